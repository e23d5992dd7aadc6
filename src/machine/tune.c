/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Corrects a model by measured loops. Each knob is a figure of a core that a loop or two isolate.
 * Where these take another time than the model says, all values that a core may have are tried, and
 * the one with which the model comes nearest is kept, if it comes clearly nearer: a loop that is
 * off for a reason that the model does not know turns no knob.
 */
#include <math.h>
#include <string.h>
#include "machine/measured.h"
#include "machine/model.h"

#define FITS	     0.04 /* a loop that is no farther off than this is right */
#define COMES_NEARER 0.6  /* what is left of the distance, at most */
#define UNTOUCHED    (-1)

enum knob_kind {
	KNOB_FIELD,   /* a byte of the core */
	KNOB_WIDTH,   /* of renaming, and of what must be as wide */
	KNOB_PORTS,   /* so many that do a kind of work */
	KNOB_STORES,  /* a cycle: ports and commits */
	KNOB_BUSY,    /* cycles that a kind of work keeps its port */
	KNOB_LATENCY, /* of instructions of these names */
	KNOB_CHAINED, /* cycles earlier for one of the same names */
	KNOB_SUM,     /* cycles later for a sum that renaming did */
	KNOB_NAMED_PORTS,
};

struct knob {
	const char *name;
	const char *loops[2];
	enum knob_kind kind;
	uint8_t least, most;
	size_t field;
	enum machine_work work;
	const char *names;
};

/* A byte of the core, by one loop or two. */
#define FIELD(name, loop, other, field, least, most)                                 \
	{                                                                            \
		name, {loop, other}, KNOB_FIELD, least, most,                        \
			offsetof(struct machine_core, field), MACHINE_WORK_ALU, NULL \
	}
/* Of a kind of work, and of instructions of these names. */
#define WORK(name, loop, kind, work, least, most)                    \
	{                                                            \
		name, {loop, NULL}, kind, least, most, 0, work, NULL \
	}
#define NAMED(name, loop, kind, names, least, most)                                   \
	{                                                                             \
		name, {loop, NULL}, kind, least, most, 0, MACHINE_WORK_SHUFFLE, names \
	}

#define SHIFTS	     "shl. shr. sar. rol. ror. shlx. shrx. sarx. rorx."
#define BITS	     "popcnt. lzcnt. tzcnt. bsf. bsr. pdep. pext. crc32."
#define FP_SUMS	     "addp adds subp subs maxp maxs minp mins cmpp cmps"
#define VECTOR_LOGIC "pxor. por. pand padd psub xorp andp orp pblendd."

/* In this order: what later ones build on comes first. */
static const struct knob knobs[] = {
	WORK("width", "width", KNOB_WIDTH, MACHINE_WORK_ALU, 2, 10),
	FIELD("sums with constants eliminated", "sum_chain", NULL, eliminates_add_immediate, 0, 1),
	FIELD("moves eliminated", "move_chain", NULL, eliminates_moves, 0, 1),
	FIELD("extensions eliminated", "extend_chain", NULL, eliminates_extensions, 0, 1),
	WORK("integer ports", "add_ports", KNOB_PORTS, MACHINE_WORK_ALU, 2, 8),
	WORK("shifters", "shift_ports", KNOB_PORTS, MACHINE_WORK_SHIFT, 1, 4),
	NAMED("shifts of eliminated sums: more", "sum_shift_chain", KNOB_SUM, SHIFTS, 0, 3),
	WORK("multipliers", "imul_independent", KNOB_PORTS, MACHINE_WORK_MUL, 1, 4),
	NAMED("latency of multiplications", "imul_chain", KNOB_LATENCY, "imul. mul. mulx.", 1, 8),
	FIELD("scaled lea slow", "lea_parts_chain", "lea_scaled_chain", scaled_lea_is_slow, 0, 1),
	FIELD("latency of slow lea", "lea_parts_chain", "lea_scaled_chain",
	      work[MACHINE_WORK_LEA_SLOW].latency_cycles, 1, 4),
	NAMED("latency of counting bits", "popcnt_chain", KNOB_LATENCY, BITS, 1, 6),
	FIELD("latency of divisions", "div32_chain", NULL, division32_cycles, 4, 60),
	FIELD("latency of divisions of 64 bits", "div64_chain", NULL, division64_cycles, 4, 120),
	WORK("divider's turn", "div32_independent", KNOB_BUSY, MACHINE_WORK_DIV, 1, 40),
	WORK("load ports", "load_ports", KNOB_PORTS, MACHINE_WORK_LOAD, 1, 4),
	FIELD("first cache's latency", "load_chain", NULL, l1_cycles, 3, 8),
	FIELD("first cache with an index: more", "load_indexed_chain", NULL, l1_indexed_extra, 0,
	      3),
	WORK("stores a cycle", "stores", KNOB_STORES, MACHINE_WORK_STORE_DATA, 1, 3),
	FIELD("stores a cycle of one line", "store_lines", NULL, commits_by_line, 0, 1),
	FIELD("loads across lines: turns", "split_loads", NULL, split_load_uses, 1, 4),
	FIELD("stores across lines: cycles", "split_stores", NULL, split_store_cycles, 1, 4),
	FIELD("memory renamed", "forward_chain", NULL, renames_memory, 0, 1),
	FIELD("memory renamed with an index", "forward_indexed", NULL, renames_indexed, 0, 1),
	FIELD("memory renamed for moves only", "forward_add_chain", NULL, renames_moves_only, 0, 1),
	FIELD("store forwarding", "forward_indexed", "forward_add_chain", store_forward_cycles, 1,
	      12),
	FIELD("store forwarding to vectors: more", "forward_vector", NULL, vector_forward_extra, 0,
	      8),
	NAMED("latency of floating-point products", "fp_mul_chain", KNOB_LATENCY, "mulp muls", 2,
	      8),
	NAMED("latency of floating-point sums", "fp_add_mul_chain", KNOB_LATENCY, FP_SUMS, 1, 8),
	NAMED("floating-point sums after each other: less", "fp_add_chain", KNOB_CHAINED, FP_SUMS,
	      0, 2),
	NAMED("latency of floating-point divisions", "fp_div_chain", KNOB_LATENCY, "divsd. divpd.",
	      6, 40),
	NAMED("latency to vectors and back", "to_vector_chain", KNOB_LATENCY,
	      "movd. movq. pmovmskb. movmsk", 1, 8),
	NAMED("latency of vector logic and sums", "vector_sum_chain", KNOB_LATENCY, VECTOR_LOGIC, 1,
	      3),
	NAMED("shuffle ports", "shuffle_ports", KNOB_NAMED_PORTS, "pshuf shuf unpck punpck palignr",
	      1, 4),
	FIELD("latency of locked operations", "lock_add", NULL, locked_cycles, 1, 40),
};

#define KNOBS (sizeof(knobs) / sizeof(*knobs))
_Static_assert(KNOBS <= MACHINE_KNOBS_MAX, "each may turn");

struct tuner {
	struct machine_model *model;
	const struct machine_measured *measured;
	int values[KNOBS];
	struct diag *diag;
};

/* A mask with so many of a kind of work's ports; ports of its own where the core has fewer. 0: it
 * has no room for more. */
static uint16_t find_ports(struct machine_core *core, uint16_t mask, unsigned count)
{
	static const char *const fresh[] = {"p90",  "p91",  "p92",  "p93", "p94",  "p95",
					    "p96",  "p97",  "p98",  "p99", "p100", "p101",
					    "p102", "p103", "p104", "p105"};
	unsigned have = (unsigned)__builtin_popcount(mask);

	for (; have > count; have--)
		mask &= (uint16_t) ~(1u << (31 - __builtin_clz(mask)));
	for (unsigned i = 0; have < count && i < MACHINE_CORE_PORTS_MAX; i++) {
		if (core->ports[i])
			continue;
		core->ports[i] = fresh[i];
		mask |= (uint16_t)(1u << i);
		have++;
	}
	return have == count ? mask : 0;
}

static bool set_work_ports(struct machine_core *core, enum machine_work work, unsigned count)
{
	uint16_t ports = find_ports(core, core->work[work].ports, count);

	core->work[work].ports = ports;
	return ports != 0;
}

/* The override of these names: one that is there, or the next; NULL: there is no room. */
static struct machine_exception *find_override(struct machine_core *core, const char *names)
{
	struct machine_exception *e = core->overrides;

	while (e < core->overrides + MACHINE_OVERRIDES_MAX - 1 && e->names &&
	       strcmp(e->names, names) != 0)
		e++;
	if (e == core->overrides + MACHINE_OVERRIDES_MAX - 1)
		return NULL;
	e->names = names;
	return e;
}

static bool set_named(struct machine_core *core, const struct knob *k, unsigned value)
{
	struct machine_exception *e = find_override(core, k->names);

	if (!e)
		return false;
	if (k->kind == KNOB_LATENCY)
		e->latency_cycles = (uint8_t)value;
	else if (k->kind == KNOB_CHAINED)
		e->chained_cycles = (uint8_t)value;
	else if (k->kind == KNOB_SUM)
		e->sum_cycles = (uint8_t)value;
	else
		e->ports = find_ports(core, core->work[k->work].ports, value);
	return k->kind != KNOB_NAMED_PORTS || e->ports;
}

static bool turn(struct machine_core *core, const struct knob *k, unsigned value)
{
	uint8_t v = (uint8_t)value;

	switch (k->kind) {
	case KNOB_FIELD:
		memcpy((char *)core + k->field, &v, 1);
		return true;
	case KNOB_WIDTH:
		core->issue_width = v;
		core->retire_width = core->retire_width > v ? core->retire_width : v;
		if (core->uop_cache_width < v * (core->uop_cache_cycles ?: 1))
			core->uop_cache_width = (uint8_t)(v * (core->uop_cache_cycles ?: 1));
		return true;
	case KNOB_PORTS:
		return set_work_ports(core, k->work, value);
	case KNOB_STORES:
		core->store_commit_width = v;
		return !core->work[MACHINE_WORK_STORE_DATA].ports ||
		       set_work_ports(core, MACHINE_WORK_STORE_DATA, value);
	case KNOB_BUSY:
		core->work[k->work].busy_cycles = v;
		return true;
	default:
		return set_named(core, k, value);
	}
}

/* Makes the model what the values say. */
static bool apply(struct tuner *t)
{
	struct machine_core core = *t->model->base;

	for (size_t i = 0; i < KNOBS; i++)
		if (t->values[i] != UNTOUCHED && !turn(&core, &knobs[i], (unsigned)t->values[i]))
			return false;
	return machine_model_adopt(t->model, &core, t->diag) == 0;
}

/* Mean of the logarithms of simulated over measured cycles of a knob's loops; -1: none is known. */
static double find_error(struct tuner *t, const struct knob *k)
{
	const struct machine_loop *l;
	double sum = 0;
	unsigned count = 0;

	for (size_t i = 0; (l = machine_loop_at(i)); i++) {
		double cycles = t->measured->cycles[i];

		for (unsigned n = 0; cycles > 0 && n < 2 && k->loops[n]; n++) {
			if (strcmp(k->loops[n], l->name) != 0)
				continue;
			sum += fabs(log(fmax(machine_fit_simulate(t->model, l), 1e-3) / cycles));
			count++;
		}
	}
	return count ? sum / count : -1;
}

/* The value of a knob with which its loops are nearest, if that is worth it. */
static void tune(struct tuner *t, size_t i)
{
	const struct knob *k = &knobs[i];
	double before = find_error(t, k), least = before * COMES_NEARER;
	int best = UNTOUCHED;

	if (before < FITS)
		return;
	for (int v = k->least; v <= k->most; v++) {
		t->values[i] = v;
		double error = apply(t) ? find_error(t, k) : INFINITY;
		if (error < least) {
			least = error;
			best = v;
		}
	}
	t->values[i] = best;
	apply(t);
}

int machine_model_tune(struct machine_model *m, const struct machine_measured *x,
		       struct machine_belief *b, struct diag *diag)
{
	struct tuner t = {.model = m, .measured = x, .diag = diag};
	int r = machine_fit_measure(m, x, &b->before);

	for (size_t i = 0; i < KNOBS; i++)
		t.values[i] = UNTOUCHED;
	for (size_t i = 0; !r && i < KNOBS; i++)
		tune(&t, i);
	for (size_t i = 0; i < KNOBS; i++) {
		if (t.values[i] == UNTOUCHED)
			continue;
		b->corrections[b->count].name = knobs[i].name;
		b->corrections[b->count++].value = (unsigned)t.values[i];
	}
	if (!r)
		r = machine_fit_measure(m, x, &b->after);
	b->measured = true;
	return r;
}

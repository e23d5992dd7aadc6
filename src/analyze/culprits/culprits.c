/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/culprits/culprits_flow.h"
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/culprits/culprits_rules.h"
#include "analyze/culprits/culprits_scale.h"
#include "analyze/culprits/culprits_weights.h"
#include "util/array.h"
#include "util/num.h"

static const struct {
	const char *name, *title;
	char letter;
#define CULPRIT_ROW(cause, ...) [CULPRIT_##cause] = {__VA_ARGS__},
} causes[CULPRIT_CAUSES] = {CULPRIT_LIST(CULPRIT_ROW)};

const char *culprit_name(enum culprit_cause c)
{
	return c < CULPRIT_CAUSES ? causes[c].name : "?";
}

const char *culprit_title(enum culprit_cause c)
{
	return c < CULPRIT_CAUSES ? causes[c].title : "?";
}

char culprit_letter(enum culprit_cause c)
{
	return c < CULPRIT_CAUSES ? causes[c].letter : '?';
}

/* The tables of cores have the caches; the rest is of one order on all that they cover. */
void culprit_limits_of(const struct machine_core *core, struct culprit_limits *ret)
{
	*ret = (struct culprit_limits){
		.l1 = core->l1_cycles,
		.l2 = core->l2_cycles,
		.l3 = core->l3_cycles,
		.memory = BUSY_MEMORY * core->memory_cycles,
		.page_walk = WALK_LOADS * core->l3_cycles,
		.mispredict = MISPREDICT_REFILLS * core->mispredict_cycles,
		.store_forward_blocked = FORWARD_BLOCKED * (core->l1_cycles + FORWARD_BLOCKED_MORE),
		.assist = ASSIST_CYCLES,
		.issue_width = core->issue_width,
		.decoded = core->uop_cache_size,
		.icache_lines = CODE_CACHE_LINES,
		.itlb_pages = CODE_TLB_PAGES,
		.line_bytes = LINE_BYTES,
		.page_bytes = PAGE_BYTES,
		.cache_lines = {16.0 * core->cache_kbytes[0], 16.0 * core->cache_kbytes[1],
				16.0 * core->cache_kbytes[2]},
		.dtlb_pages = {core->dtlb_pages[0], core->dtlb_pages[1]},
		.dtlb_cycles = DTLB_SECOND_CYCLES,
	};
}

struct culprit_suspect *culprit_suspect(struct culprit_case *c, enum culprit_cause cause,
					double bound, double weight, uint64_t blame)
{
	struct culprit_suspect *s = c->suspects;

	if (!(bound > 0) || !(weight > 0))
		return NULL;
	while (s < c->suspects + c->count &&
	       (s->culprit.cause != cause || s->culprit.blame != blame))
		s++;
	if (s == c->suspects + c->count) {
		if (c->count == CULPRIT_SUSPECTS_MAX)
			return NULL;
		c->count++;
		*s = (struct culprit_suspect){
			.culprit = {.cause = cause, .reg = ISA_REG_NONE, .blame = blame}};
	}
	s->bound += bound;
	s->likely_most += bound;
	s->weight = fmax(s->weight, weight);
	return s;
}

/*
 * Shares the stall out by weight, no suspect getting more than it can have: what is cut off goes to
 * the others. Returns what nobody can explain.
 */
static double share_out(struct culprit_case *c)
{
	double left = c->cycles, weight;
	bool cut = true;

	while (cut && left > 1e-9 * c->cycles) {
		cut = false;
		weight = 0;
		for (uint32_t i = 0; i < c->count; i++)
			if (c->suspects[i].culprit.likely == 0)
				weight += c->suspects[i].weight;
		for (uint32_t i = 0; i < c->count && weight > 0 && !cut; i++) {
			struct culprit_suspect *s = &c->suspects[i];

			if (s->culprit.likely > 0 || left * s->weight / weight < s->likely_most)
				continue;
			s->culprit.likely = s->likely_most;
			left -= s->likely_most;
			cut = true;
		}
	}
	weight = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->suspects[i].culprit.likely == 0)
			weight += c->suspects[i].weight;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->suspects[i].culprit.likely == 0)
			c->suspects[i].culprit.likely = left * c->suspects[i].weight / weight;
	return weight > 0 ? 0 : fmax(0, left);
}

/* Low: what the others, all at their most, leave. */
static void set_ranges(struct culprit_case *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct culprit_suspect *s = &c->suspects[i];

		s->culprit.high = fmin(s->bound, c->cycles);
		sum += s->culprit.high;
	}
	for (uint32_t i = 0; i < c->count; i++) {
		struct culprit *k = &c->suspects[i].culprit;

		k->low = fmin(k->high, fmax(0, c->cycles - (sum - k->high)));
		c->suspects[i].likely_most = fmax(c->suspects[i].likely_most, k->low);
	}
}

/* Explains c->cycles and appends the result to list. */
static uint32_t close_case(struct culprit_case *c, struct culprit *list)
{
	double left;

	set_ranges(c);
	left = share_out(c);
	for (uint32_t i = 0; i < c->count; i++)
		list[i] = c->suspects[i].culprit;
	if (left > 0) {
		list[c->count] = (struct culprit){.cause = CULPRIT_UNEXPLAINED,
						  .reg = ISA_REG_NONE,
						  .low = left,
						  .high = left,
						  .likely = left,
						  .blame = ISA_NO_ADDRESS};
		return c->count + 1;
	}
	return c->count;
}

/* True for a load of what several stores wrote, or one that is narrower. */
static bool waits_for_store(const struct culprit_view *v, uint32_t at)
{
	const struct isa_operand *load = culprit_memory(&v->operands[at], ISA_ACCESS_READS);
	bool fresh;

	return load && culprit_find_blocked_store(v, at, load, &fresh) != CULPRIT_NOBODY;
}

/* The kind of instruction that lets nothing pass: itself, or the one that it waits for. */
static enum culprit_cause serial_cause(const struct culprit_view *v, uint32_t at)
{
	int32_t by = v->heads[at].cause;
	bool serial = v->prepared[at].traits & (MACHINE_LOCKED | MACHINE_FENCE | MACHINE_SERIAL);

	if (!serial && by >= 0 && (uint32_t)by < v->function->instruction_count)
		at = (uint32_t)by;
	if (v->function->instructions[at].branch == ISA_BRANCH_SYSTEM)
		return CULPRIT_SYSCALL;
	return v->prepared[at].traits & MACHINE_LOCKED ? CULPRIT_LOCK : CULPRIT_FENCE;
}

/* Which of our causes what bound an instruction in the simulator is; CULPRIT_CAUSES: none, it is
 * the pace at which the core executes. */
static enum culprit_cause static_cause(const struct culprit_view *v, uint32_t at)
{
	const struct machine_head *h = &v->heads[at];

	switch (h->bound) {
	case MACHINE_BOUND_FORWARD:
		return waits_for_store(v, at) ? CULPRIT_STORE_FORWARD : CULPRIT_DEPENDENCY;
	case MACHINE_BOUND_DEPENDENCY:
	case MACHINE_BOUND_LATENCY:
	case MACHINE_BOUND_MEMORY:
		return v->prepared[at].traits & MACHINE_DIVIDES ? CULPRIT_DIVIDER
								: CULPRIT_DEPENDENCY;
	case MACHINE_BOUND_DIVIDER:
		return CULPRIT_DIVIDER;
	case MACHINE_BOUND_PORT:
	case MACHINE_BOUND_SCHEDULER:
	case MACHINE_BOUND_REORDER:
	case MACHINE_BOUND_LOADS:
		return CULPRIT_PORT;
	case MACHINE_BOUND_FRONT_END:
		return CULPRIT_FRONT_END;
	case MACHINE_BOUND_STORES:
		return CULPRIT_STORE_BUFFER;
	case MACHINE_BOUND_SERIAL:
		return serial_cause(v, at);
	default:
		return CULPRIT_CAUSES;
	}
}

/* The instruction that a static stall waits for: the model's, else itself. */
static uint64_t static_blame(const struct culprit_view *v, uint32_t at)
{
	int32_t cause = v->heads[at].cause;

	if (v->heads[at].bound == MACHINE_BOUND_FRONT_END)
		return ISA_NO_ADDRESS;
	if (cause < 0 || (uint32_t)cause >= v->function->instruction_count)
		cause = (int32_t)at;
	return v->function->instructions[cause].address;
}

/* How the cycles of a block compare with the model's, summed over its instructions. */
struct block_account {
	double scale;	     /* that all cycles of the model are taken by */
	double above, below; /* an execution, of that */
	double evenness;     /* 1: each operation has as many samples as any other */
	double likeness;     /* 1: each has the share of the samples that the model gives it */
	double width, port;  /* cycles that its operations need of the width, of the busiest port */
	unsigned busiest;    /* that port */
	uint32_t slowest;    /* the instruction with the most below */
};

static unsigned uses_of(const struct machine_cost *cost)
{
	return (unsigned)cost->load_uses + cost->work_uses + cost->store_uses;
}

/* The pressure on the width and on the ports. */
static void account_ports(const struct culprit_view *v, const struct cfg_block *block,
			  struct block_account *a)
{
	double ports[MACHINE_PORTS_MAX] = {0}, slots = 0;

	for (uint32_t k = 0; k < block->instruction_count; k++) {
		uint32_t i = block->first_instruction + k;
		const struct machine_cost *cost = machine_cost_of(v->model, &v->prepared[i]);

		slots += v->heads[i].slots;
		for (unsigned u = 0; u < uses_of(cost); u++) {
			double share = (double)cost->uses[u].cycles /
				       __builtin_popcountll(cost->uses[u].ports | 1);

			for (uint64_t left = cost->uses[u].ports; left; left &= left - 1)
				ports[__builtin_ctzll(left)] += share;
		}
	}
	for (unsigned p = 0; p < MACHINE_PORTS_MAX; p++)
		if (ports[p] > ports[a->busiest])
			a->busiest = p;
	a->port = ports[a->busiest];
	a->width = slots / v->limits.issue_width;
}

/* How the samples compare with an even spread, and with the model's. In at most EVEN_BINS parts of
 * the block: a large one has less than a sample for each instruction. */
static void account_evenness(const struct culprit_view *v, const struct cfg_block *block,
			     struct block_account *a)
{
	struct {
		double cycles, slots, best;
	} bins[EVEN_BINS] = {{0}}, all = {0};
	uint32_t n = block->instruction_count;
	double apart = 0, off = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = block->first_instruction + k;
		uint32_t bin = n <= EVEN_BINS ? k : (uint32_t)((uint64_t)k * EVEN_BINS / n);

		bins[bin].cycles += v->sites[i].cycles;
		bins[bin].slots += v->heads[i].slots;
		bins[bin].best += v->expected[i];
		all.cycles += v->sites[i].cycles;
		all.slots += v->heads[i].slots;
		all.best += v->expected[i];
	}
	if (n < EVEN_LEAST || all.cycles <= 0 || all.slots <= 0 || all.best <= 0)
		return;
	for (uint32_t b = 0; b < EVEN_BINS; b++) {
		apart += fabs(bins[b].cycles / all.cycles - bins[b].slots / all.slots) / 2;
		off += fabs(bins[b].cycles / all.cycles - bins[b].best / all.best) / 2;
	}
	a->evenness = 1 - apart;
	a->likeness = 1 - off;
}

/*
 * Where a time sample lands is not exact to the instruction: what one has too much of and its
 * neighbour too little is no stall. So a block's instructions owe each other: only what a block
 * took more than the model says, as a whole, is dynamic.
 */
static struct block_account account_block(const struct culprit_view *v,
					  const struct cfg_block *block, double scale)
{
	struct block_account a = {.scale = scale, .slowest = CULPRIT_NOBODY};
	double most = 0, over;
	bool sampled = false;

	for (uint32_t k = 0; k < block->instruction_count; k++) {
		uint32_t i = block->first_instruction + k;

		over = v->sites[i].cycles - a.scale * v->expected[i];
		sampled |= v->sites[i].cycles > 0;
		if (over > 0)
			a.above += over;
		else
			a.below -= over;
		if (-over > most && static_cause(v, i) != CULPRIT_CAUSES) {
			most = -over;
			a.slowest = i;
		}
	}
	if (sampled) { /* else nobody asks for the pressure */
		account_ports(v, block, &a);
		account_evenness(v, block, &a);
	}
	return a;
}

/* The instruction at or before one that needs the port, in its block. */
static uint64_t port_user(const struct culprit_view *v, uint32_t at, unsigned port)
{
	uint32_t first = v->function->blocks[culprit_block_of(v, at)].first_instruction;

	for (uint32_t i = at + 1; i-- > first;) {
		const struct machine_cost *cost = machine_cost_of(v->model, &v->prepared[i]);

		for (unsigned u = 0; u < uses_of(cost); u++)
			if (cost->uses[u].ports >> port & 1 &&
			    __builtin_popcountll(cost->uses[u].ports) <= PORT_CHOICES)
				return v->function->instructions[i].address;
	}
	return v->function->instructions[at].address;
}

/* In a block whose samples are even, the pace of all is what is too slow. */
static void suspect_throughput(struct culprit_case *c, const struct block_account *a)
{
	double even = (a->evenness - EVEN_FROM) / (1 - EVEN_FROM);
	bool ports = a->port > a->width;
	/* Of a block that is even as a whole, what one of its instructions has is chance. */
	double bound = even > EVEN_WHOLE ? c->cycles : EVEN_CYCLES;

	if (even <= 0)
		return;
	culprit_suspect(c, CULPRIT_PORT, bound, even * (ports ? EVEN_PORTS : EVEN_PORTS_OTHER),
			port_user(c->view, c->at, a->busiest));
	culprit_suspect(c, CULPRIT_FRONT_END, bound,
			even * (ports ? EVEN_FRONT_END_OTHER : EVEN_FRONT_END), ISA_NO_ADDRESS);
}

static uint32_t add_static(const struct culprit_view *v, const struct block_account *a, uint32_t at,
			   double cycles, struct culprit *list)
{
	enum culprit_cause cause = static_cause(v, at);
	/* The samples are even, but not where the model's latencies would put them: ports. */
	bool even = cause == CULPRIT_DEPENDENCY && a->evenness > PORTS_EVENNESS &&
		    a->likeness < PORTS_LIKENESS && a->port > a->width;

	if (even)
		cause = CULPRIT_PORT;
	if (cause == CULPRIT_CAUSES || cycles <= 1e-9)
		return 0;
	*list = (struct culprit){
		.cause = (uint8_t)cause,
		.reg = cause == CULPRIT_DEPENDENCY ? v->heads[at].cause_register : ISA_REG_NONE,
		.is_static = true,
		.low = cycles,
		.high = cycles,
		.likely = cycles,
		.blame = even ? port_user(v, at, a->busiest) : static_blame(v, at)};
	return 1;
}

static uint32_t add_dynamic(const struct culprit_view *v, const struct block_account *a,
			    uint32_t at, double cycles, bool fresh, struct culprit *list)
{
	const struct cfg_block *block = &v->function->blocks[culprit_block_of(v, at)];
	struct culprit_case c = {.view = v, .at = at, .fresh = fresh, .cycles = cycles};

	if (cycles <= 1e-9)
		return 0;
	if (!fresh) {
		culprit_suspect_data(&c, at, 1, 1);
		culprit_suspect_producers(&c);
		culprit_suspect_stores(&c, at, 1);
		culprit_suspect_rare(&c, at, 1);
		culprit_suspect_barriers(&c);
		culprit_suspect_latency(&c);
		suspect_throughput(&c, a);
		culprit_suspect_departure(&c);
		culprit_suspect_refill(&c);
		/* A pair that runs as one: what the second half does is of the first. */
		if (v->prepared[at].traits & MACHINE_FUSES &&
		    at + 1 < v->function->instruction_count)
			culprit_suspect_data(&c, at + 1, 1, 1);
	}
	if (block->first_instruction == at)
		culprit_suspect_arrival(&c);
	else
		culprit_suspect_line(&c);
	return close_case(&c, list);
}

static int compare_culprits(const void *pa, const void *pb)
{
	const struct culprit *a = pa, *b = pb;

	if (a->likely != b->likely)
		return a->likely > b->likely ? -1 : 1;
	return a->cause != b->cause ? a->cause - b->cause : NUM_ORDER(a->blame, b->blame);
}

/* Adds up entries of one cause and blame: the same from two parts of the cycles. */
static uint32_t join_equal(struct culprit *list, uint32_t count)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < count; i++) {
		for (k = 0; k < n; k++)
			if (list[k].cause == list[i].cause && list[k].blame == list[i].blame &&
			    list[k].is_static == list[i].is_static)
				break;
		if (k == n) {
			list[n++] = list[i];
			continue;
		}
		list[k].low += list[i].low;
		list[k].high += list[i].high;
		list[k].likely += list[i].likely;
	}
	return n;
}

/*
 * A load that takes long is the best case's own latency, or a miss. How often it ran tells them
 * apart; when that is hardly known, the miss is named first: guilty until proven innocent.
 */
static void prefer_misses(struct culprit *list, uint32_t count)
{
	uint32_t miss = 0;

	if (list[0].cause != CULPRIT_DEPENDENCY || !list[0].is_static)
		return;
	while (miss < count && (list[miss].is_static || (list[miss].cause != CULPRIT_DCACHE &&
							 list[miss].cause != CULPRIT_DTLB)))
		miss++;
	if (miss == count || list[miss].likely < list[0].likely * MISS_FIRST)
		return;
	struct culprit first = list[miss];
	memmove(list + 1, list, miss * sizeof(*list));
	list[0] = first;
}

static int find_of(const struct culprit_view *v, const struct block_account *a, uint32_t at,
		   struct arena *memory, struct culprit_list *ret)
{
	struct culprit all[2 * CULPRIT_SUSPECTS_MAX + 4];
	const struct culprit_site *site = &v->sites[at];
	double best = a->scale * v->expected[at], over = fmax(0, site->cycles - best);
	double dynamic = a->above > a->below ? over * (1 - a->below / a->above) : 0;
	double fresh = site->cycles > 0 ? dynamic * fmin(1, site->fresh / site->cycles) : 0;
	uint32_t n = 0;

	ret->gain = a->below > a->above && a->below > 0
			    ? fmax(0, best - site->cycles) * (1 - a->above / a->below)
			    : 0;
	ret->count = 0;
	if (site->count <= 0 || site->cycles <= 0)
		return 0;
	n += add_static(v, a, at, fmin(site->cycles, a->scale * v->heads[at].stall_cycles),
			all + n);
	if (a->slowest != CULPRIT_NOBODY)
		n += add_static(v, a, a->slowest, over - dynamic, all + n);
	n += add_dynamic(v, a, at, dynamic - fresh, false, all + n);
	n += add_dynamic(v, a, at, fresh, true, all + n);
	n = join_equal(all, n);
	if (n == 0)
		return 0;
	array_sort(all, n, sizeof(*all), compare_culprits);
	if (site->doubt > 1)
		prefer_misses(all, n);
	ret->list = arena_alloc(memory, n * sizeof(*all));
	if (!ret->list)
		return -ENOMEM;
	memcpy(ret->list, all, n * sizeof(*all));
	ret->count = n;
	return 0;
}

int culprits_find(const struct culprit_view *v, struct arena *memory, struct culprit_list *ret)
{
	const struct cfg_function *f = v->function;
	double *scales = arena_alloc(memory, ((size_t)f->block_count + 1) * sizeof(*scales));
	int r = scales ? culprit_find_scales(v, memory, scales) : -ENOMEM;

	memset(ret, 0, f->instruction_count * sizeof(*ret));
	for (uint32_t b = 0; b < f->block_count && !r; b++) {
		struct block_account account = account_block(v, &f->blocks[b], scales[b]);

		for (uint32_t k = 0; k < f->blocks[b].instruction_count; k++) {
			uint32_t i = f->blocks[b].first_instruction + k;

			r = find_of(v, &account, i, memory, &ret[i]);
			if (r < 0)
				break;
		}
	}
	return r;
}

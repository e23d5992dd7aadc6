/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How well a model fits measured loops, and the core that fits them best. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine/measured.h"
#include "machine/simulate.h"
#include "util/array.h"
#include "util/num.h"

#define NARROWEST 0.8

/* Another core is believed only if it is this much nearer than the one that the processor names. */
#define CLEARLY_NEARER 0.6
#define NEAR_ENOUGH    0.03
#define FITS_NOTHING   0.25 /* median error after all corrections */

size_t machine_fit_prepare(struct machine_model *m, const struct machine_loop *l,
			   struct machine_instruction list[MACHINE_LOOP_INSTRUCTIONS])
{
	size_t count = 0;

	for (const uint8_t *p = l->begin; p < l->end && count < MACHINE_LOOP_INSTRUCTIONS;
	     count++) {
		machine_prepare(m, p, (size_t)(l->end - p), (uint64_t)(uintptr_t)p, &list[count]);
		p += list[count].size;
	}
	machine_fuse(m, list, count);
	return count;
}

double machine_fit_simulate(struct machine_model *m, const struct machine_loop *l)
{
	struct machine_instruction list[MACHINE_LOOP_INSTRUCTIONS];
	struct machine_head heads[MACHINE_LOOP_INSTRUCTIONS];
	struct machine_steady steady = {0};
	struct machine_simulator *s;

	if (machine_simulator_new(m, NULL, &s))
		return 0;
	size_t count = machine_fit_prepare(m, l, list);
	int r = machine_head_times(s, list, count, MACHINE_LOOP, heads, &steady);
	machine_simulator_free(s);
	return r ? 0 : steady.cycles;
}

int machine_fit_measure(struct machine_model *m, const struct machine_measured *x,
			struct machine_fit *ret)
{
	struct machine_fit fit = {0};
	double errors[MACHINE_LOOPS_MAX];
	const struct machine_loop *l;

	for (size_t i = 0; (l = machine_loop_at(i)); i++) {
		if (x->cycles[i] <= 0)
			continue;
		double cycles = machine_fit_simulate(m, l);
		if (cycles <= 0)
			return -ENOMEM;
		errors[fit.loops++] = fabs(cycles / x->cycles[i] - 1);
		fit.distance += fmin(fabs(log(cycles / x->cycles[i])), log(2));
	}
	if (fit.loops) {
		array_sort(errors, fit.loops, sizeof(*errors), num_compare_double);
		fit.median = errors[fit.loops / 2];
		fit.high = errors[fit.loops * 9 / 10];
		fit.distance /= fit.loops;
	}
	*ret = fit;
	return 0;
}

/* Cycles of the loop called width: 48 idle operations, and the jump with what it is fused with. */
static double width_cycles(const struct machine_core *c)
{
	return (c->fuses_nops ? 25 : 49) / (double)c->issue_width;
}

bool machine_fit_is_alone(const struct machine_cpu *cpu, const struct machine_measured *x)
{
	const struct machine_loop *l;
	const struct machine_core *c;
	double most = 0;

	for (size_t i = 0; (c = machine_core_at(i)); i++)
		if (machine_core_may_be(cpu, c))
			most = fmax(most, width_cycles(c));
	for (size_t i = 0; (l = machine_loop_at(i)); i++)
		if (!strcmp(l->name, "width"))
			return x->cycles[i] > 0 && NARROWEST * x->cycles[i] < most;
	return true;
}

/* By built-in costs, which all cores have and which are quick to make. */
static double find_distance(const struct machine_core *core, const struct machine_measured *x)
{
	struct machine_fit fit = {.distance = INFINITY};
	struct machine_model *m;
	struct diag unused;

	if (machine_model_new(core, MACHINE_SOURCE_BUILTIN, &m, &unused))
		return INFINITY;
	if (machine_fit_measure(m, x, &fit))
		fit.distance = INFINITY;
	machine_model_free(m);
	return fit.distance;
}

static const struct machine_core *choose(const struct machine_cpu *cpu,
					 const struct machine_measured *x,
					 enum machine_match *ret_match)
{
	const struct machine_core *named = machine_core_find(cpu, ret_match), *best = named, *c;

	if (!x)
		return named;
	double least = find_distance(named, x), bound = CLEARLY_NEARER * least;
	if (least < NEAR_ENOUGH)
		return named;
	least = bound;
	for (size_t i = 0; (c = machine_core_at(i)); i++) {
		if (c == named || !machine_core_may_be(cpu, c))
			continue;
		double distance = find_distance(c, x);
		if (distance <= least) { /* a server's last: those hide what they are */
			least = distance;
			best = c;
		}
	}
	if (best != named)
		*ret_match = MACHINE_MATCH_MEASURED;
	return best;
}

int machine_model_believe(const struct machine_cpu *cpu, const struct machine_measured *x,
			  enum machine_source source, struct machine_model **ret,
			  struct machine_belief *ret_belief, struct diag *diag)
{
	struct machine_belief b = {0};
	const struct machine_core *core = choose(cpu, x, &b.match);
	struct machine_model *m;
	int r = machine_model_new(core, source, &m, diag);

	if (r)
		return r;
	if (x)
		r = machine_model_tune(m, x, &b, diag);
	if (r || b.after.median > FITS_NOTHING) {
		machine_model_free(m);
		if (r)
			return r;
		r = machine_model_believe(cpu, NULL, source, ret, ret_belief, diag);
		ret_belief->refused = r == 0;
		return r;
	}
	*ret = m;
	*ret_belief = b;
	return 0;
}

const char *machine_belief_describe(const struct machine_model *m, const struct machine_cpu *cpu,
				    const struct machine_belief *b, char *out, size_t room)
{
	machine_core_describe(machine_model_core(m), cpu, b->match, out, room);
	size_t n = strlen(out);
	const struct machine_fit *f = &b->after;

	if (!b->measured)
		return out;
	n += (size_t)snprintf(out + n, room - n,
			      "; %u measured loops off by %.0f%% (median) and %.0f%% (90th "
			      "percentile)",
			      f->loops, 100 * f->median, 100 * f->high);
	if (b->count && n < room)
		snprintf(out + n, room - n, ", before %u correction%s by %.0f%% and %.0f%%",
			 b->count, b->count == 1 ? "" : "s", 100 * b->before.median,
			 100 * b->before.high);
	return out;
}

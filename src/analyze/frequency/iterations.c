/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/frequency/iterations.h"

#include <math.h>

/* Below these, and ITERATIONS_PAIRS_LEAST, the method was off by up to 60%; above, 34 of 34 loops
 * were within 10%. */
#define ITERATIONS_LEAST 3.0 /* of a pair, on average */
#define COVER_LEAST	 0.7 /* of the pairs that begin in the loop: those that tell */
#define SIGMA		 0.05

/* What each iteration adds to a register; 0: not known. */
static int64_t step_of(const struct cfg_register_change *c, const struct iterations_pair *pair)
{
	return c->how == CFG_CHANGE_REGISTER ? c->step * db_pair_value(pair->changes[c->by])
					     : c->step;
}

/* By one register. -1: it cannot be one activation; 0: it does not tell. */
static int64_t by_register(const struct cfg_register_change *c, const struct iterations_pair *pair,
			   unsigned reg)
{
	const int32_t change = pair->changes[reg];
	int64_t step, by;

	if (c->how == CFG_CHANGE_ANY)
		return 0;
	if (c->how == CFG_CHANGE_NONE)
		return db_pair_stayed(change) ? 0 : -1;
	step = step_of(c, pair);
	if (!step || change == DB_PAIR_UNTOLD)
		return 0;
	by = db_pair_by(change);
	return by % step || by / step <= 0 ? -1 : by / step;
}

uint64_t iterations_between(const struct cfg_induction *loop, const struct iterations_pair *pair)
{
	int64_t least = INT64_MAX, most = 0;

	if (pair->missed)
		return 0;
	for (unsigned i = 0; i < CFG_GENERAL_REGISTERS; i++) {
		const int64_t n = by_register(&loop->registers[i], pair, i);

		if (n < 0)
			return 0;
		if (!n)
			continue;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	/* Of two registers one may be ahead by an iteration. */
	return most && most - least <= 1 ? (uint64_t)most : 0;
}

void iterations_add(struct iterations *t, uint64_t count, uint64_t iterations)
{
	t->pairs += count;
	if (!iterations)
		return;
	t->valid += count;
	t->sum += (double)count * (double)iterations;
	t->squares += (double)count * (double)iterations * (double)iterations;
}

double iterations_of_sample(const struct iterations *t, double *ret_sigma)
{
	const double n = (double)t->valid;
	double mean, variance;

	if (t->valid < ITERATIONS_PAIRS_LEAST || n < COVER_LEAST * (double)t->pairs)
		return 0;
	mean = t->sum / n;
	if (mean < ITERATIONS_LEAST)
		return 0;
	variance = fmax(t->squares / n - mean * mean, 0) / (mean * mean);
	*ret_sigma = sqrt(SIGMA * SIGMA + variance / n);
	return mean;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_ITERATIONS_H
#define CULPRIT_ANALYZE_FREQUENCY_ITERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cfg/induction.h"
#include "db/pairs.h"

/*
 * How many iterations a loop makes from one sample to the next, from pairs of samples that were in
 * one activation of it (db/pairs.h). Multiplied by the loop's samples these are its iterations,
 * whatever the clock and its period.
 */

/* Two samples, the first of which was at from. */
struct iterations_pair {
	uint64_t from, to; /* offsets in the image */
	uint64_t count;	   /* of equal ones */
	bool missed;	   /* nothing is known of the second */
	int32_t changes[DB_PAIR_REGISTERS];
};

/*
 * The iterations between both samples of a pair that are in the loop; 0: they are of different
 * activations, or it cannot be told.
 */
uint64_t iterations_between(const struct cfg_induction *loop, const struct iterations_pair *pair);

/* Of the pairs whose first sample was in a loop. */
struct iterations {
	uint64_t pairs, valid; /* all, and those that tell */
	double sum, squares;   /* of the iterations of those */
};

#define ITERATIONS_PAIRS_LEAST 20 /* that tell */

void iterations_add(struct iterations *t, uint64_t count, uint64_t iterations);

/*
 * Iterations from one sample to the next; ret_sigma: of its logarithm. 0: too few pairs tell, or
 * too few of all, or there are too few iterations in a pair: pairs that span the end of an
 * activation do not count, so that of short ones too many fast ones are seen.
 */
double iterations_of_sample(const struct iterations *t, double *ret_sigma);

#endif

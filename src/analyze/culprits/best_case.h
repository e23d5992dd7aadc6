/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_BEST_CASE_H
#define CULPRIT_ANALYZE_CULPRITS_BEST_CASE_H

#include <stdint.h>
#include "cfg/cfg.h"
#include "cfg/loops.h"
#include "machine/simulate.h"

/*
 * What a function's instructions cost at best, all caches hitting and all branches predicted: its
 * hot loops and paths, run through the model of the core until they repeat themselves.
 */

struct best_case_request {
	const struct cfg_function *function;
	const struct cfg_loops *loops; /* NULL: not known */
	struct machine_model *model;
	struct machine_simulator *simulator;
	/* The bytes of an instruction, as many as its size; NULL: not available. */
	const uint8_t *(*code)(void *arg, uint64_t address);
	void *arg;
	/* How much each block matters: a path follows the heavier successor; blocks of no weight
	 * are not simulated: each of their instructions takes its share of the issue width. */
	const double *block_weight;
};

struct best_case {
	struct machine_instruction *prepared; /* of each instruction, fused pairs marked */
	struct machine_head *heads; /* of each instruction; cause is the number of one of them */
	/* Of each instruction: the stalls that it is to blame for, and its share of the time that
	 * the core's width takes. At the place where a precise sampler would find it. */
	double *expected;
	double *block_cycles; /* of each block: the sum of what is expected */
	bool weighed;	      /* a block had weight */
};

int best_case_new(const struct best_case_request *q, struct best_case **ret); /* 0 or -ENOMEM */
void best_case_free(struct best_case *b);

#endif

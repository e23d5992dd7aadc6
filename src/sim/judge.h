/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_JUDGE_H
#define CULPRIT_SIM_JUDGE_H

#include "sim/sample.h"
#include "sim/truth.h"

/*
 * Sampling judged by the truth of the same run: how many instructions' counts are within 1/sqrt(k)
 * (section 5.1 of ProfileMe), and how near wasted slots that pairs estimate (5.2.3) come.
 */
struct judge;

struct judge_verdict {
	uint64_t instructions;		    /* that have as many samples as are asked for */
	double within;			    /* share of them whose fetches are within 1/sqrt(k) */
	double retired_error, dcache_error; /* of the sums over all: estimate / truth - 1 */
	uint64_t pairs;
	double wasted_error;	    /* of the sum over all instructions */
	double wasted_correlation;  /* by instruction, weighted by nothing */
	double latency_correlation; /* of cycles in progress with wasted slots, both true */
};

struct judge *judge_new(void); /* NULL: no memory */
void judge_free(struct judge *j);
int judge_take(struct judge *j, const struct sim_pair *pair); /* 0 or -ENOMEM */
/* period, window: of the samples. width: slots a cycle. least: samples of an instruction that
 * counts. */
void judge_end(const struct judge *j, const struct sim_truth *t, uint64_t period, unsigned window,
	       unsigned width, uint64_t least, struct judge_verdict *ret);

#endif

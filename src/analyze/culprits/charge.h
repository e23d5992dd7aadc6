/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CHARGE_H
#define CULPRIT_ANALYZE_CULPRITS_CHARGE_H

#include <stdbool.h>
#include <stdint.h>
#include "cfg/cfg.h"
#include "isa/operands.h"
#include "machine/cost.h"

/*
 * Moves time from where it was sampled to the instruction that took it. An interrupt is taken when
 * the oldest instruction is done: the sample shows the one after it. Measured on Zen 5 this holds
 * alike for data and for code that missed a cache (doc/analysis.md, "Where a sample lands").
 */

struct charge_skid {
	double back; /* share of samples that are shown one instruction late: 1, or 0 where the
			event is precise */
	bool shows_divisions; /* samples at a division are its own */
};

struct charge_request {
	const struct cfg_function *function;
	const struct isa_operands *operands;
	const struct machine_instruction *prepared;
	const double *edge_count;
	const uint64_t *samples; /* of each instruction */
	struct charge_skid skid;
	bool masks; /* samples may have waited for interrupts to be enabled: see masked.h */
};

/*
 * ret_charged: samples of each instruction, ret_fresh: those of them that were sampled at the
 * instruction itself, because what ran before it is not in this function. Their sum is that of the
 * samples.
 */
void charge_samples(const struct charge_request *q, double *ret_charged, double *ret_fresh);

#endif

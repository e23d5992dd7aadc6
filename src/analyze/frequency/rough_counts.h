/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_ROUGH_COUNTS_H
#define CULPRIT_ANALYZE_FREQUENCY_ROUGH_COUNTS_H

#include <stdint.h>
#include "cfg/cfg.h"

/*
 * Counts of a function's blocks and edges from samples alone, for when nothing better is known
 * (analyze/frequency/frequency.h): a block's samples for each of its instructions, made a possible
 * flow with the least change (cfg/flow.h). Relative to each other only: on cores that execute out
 * of order samples tell cost, and frequency no better than within a few times.
 *
 * samples: of each block; blocks and edges: as the function's. 0 or -ENOMEM.
 */
int rough_counts(const struct cfg_function *f, const uint64_t *samples, double *blocks,
		 double *edges);

#endif

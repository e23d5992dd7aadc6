/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_SCALE_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_SCALE_H

#include "analyze/culprits/culprits.h"

/*
 * When executions are hardly known, neither are cycles per execution: a loop may seem to take twice
 * its best case because it ran twice as often as estimated, or no more than its best case though it
 * waits all the time. Instructions that cannot have stalled then give the scale.
 */

/* What the best case of each block must be multiplied by to be in the cycles of the sites:
 * ret_scales has block_count entries; 1: as they are. 0 or -ENOMEM. */
int culprit_find_scales(const struct culprit_view *v, struct arena *memory, double *ret_scales);

/*
 * How many times its best case a function takes, by where its samples are and regardless of its
 * counts: by what cannot stall, where that is a fair part of the best case; else, where the samples
 * lie as the model's latencies put them, what such code takes; but no less than branches that may
 * be mispredicted account for. 0: the samples do not say.
 */
double culprit_stall_by_shape(const struct culprit_view *v);

#endif

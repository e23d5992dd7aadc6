/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_BALANCE_H
#define CULPRIT_ANALYZE_COMPARE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How evenly work is spread over the processes of a parallel program. All wait for the one that has
 * most, so the imbalance is what that one has above the mean: most / mean - 1 (the percent
 * imbalance of Pearce et al., ICS 2012). 0: all have the same; 100 * (count - 1) percent: one has
 * all.
 */
struct balance {
	size_t count; /* of processes */
	uint64_t sum, least, most;
	double mean;
	double imbalance; /* percent; 0 when there are no samples */
	double chance;	  /* of counts as uneven by sampling alone, when all work equally */
};

/* Samples of each process. */
void balance_find(const uint64_t *samples, size_t count, struct balance *ret);

#endif

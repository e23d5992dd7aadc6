/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_DATA_FOOTPRINT_H
#define CULPRIT_ANALYZE_CULPRITS_DATA_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/frequency/evidence.h"

/*
 * How much memory one load goes to: the lines and pages that the windows saw it touch
 * (db/touches.h), with those that they missed: Chao (1984), from how many were seen in one window
 * and in two. Of very uneven use it tells the part that matters: what is used often enough.
 */
struct data_count {
	double least, likely, most; /* most: INFINITY when too little was seen to tell */
};

struct data_footprint {
	double windows; /* 0: nothing is known */
	struct data_count lines, pages;
};

/* Sorts touches (from: the load, to: the place) and adds up equal ones; returns how many are
 * left. */
size_t data_touches_join(struct evidence_edge *touches, size_t count);
/* The first touch of a load at or after an address, in touches that were joined. */
size_t data_touches_seek(const struct evidence_edge *touches, size_t count, uint64_t address);
/* Of the load at an address, in touches that were joined. */
struct data_footprint data_footprint_of(const struct evidence_edge *touches, size_t count,
					uint64_t load);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_REPORT_H
#define CULPRIT_COUNTING_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "db/counters.h"
#include "instrument/attach/attach.h"
#include "instrument/plan.h"
#include "util/diag.h"

/* What was counted in a run, what was not, and why. */

/* Code that ran uncounted, or whose counts may not be right. */
#define COUNTING_MISS_NUMBER(cause, ...) COUNTING_MISS_##cause,
enum counting_miss { COUNTERS_OF_MISSES(COUNTING_MISS_NUMBER) COUNTING_MISSES };

/* Whether a planned function is counted, or why not. */
enum counting_left {
	COUNTING_LEFT_FILE, /* copies of its file came into no process */
	COUNTING_LEFT_NOT,  /* it is counted */
	COUNTING_LEFT_COPY, /* no copy can be made for where its file is */
	COUNTING_LEFT_TAKEN /* and enum attach_taken */
};
#define COUNTING_LEFTS (COUNTING_LEFT_TAKEN + ATTACH_TAKEN_COUNT)

struct counting_report {
	COUNTERS_OF_COUNTING(COUNTER_FIELD)
	uint64_t missed[COUNTING_MISSES];
	struct diag why[COUNTING_MISSES]; /* of the first */
	uint64_t of_why[COUNTING_MISSES]; /* which are so many */
	uint32_t left[INSTRUMENT_REASONS], left_late[COUNTING_LEFTS];
	struct attach_counters attach;
	struct counting_bursts {
		COUNTERS_OF_BURSTS(COUNTER_FIELD)
	} bursts; /* 0: none */
	struct counting_paths {
		COUNTERS_OF_PATHS(COUNTER_FIELD)
	} paths;
	bool of_paths, of_running; /* paths were counted; in a process that ran already */
};

/* So many more. path: of the file, NULL: why tells all. */
void counting_miss(struct counting_report *r, enum counting_miss cause, uint64_t count,
		   const char *path, const char *why);
/* Whether functions that have counts have them of all of the run: what is counted nowhere has
 * none. */
bool counting_is_whole(const struct counting_report *r);
const char *counting_left_text(unsigned left);

#endif

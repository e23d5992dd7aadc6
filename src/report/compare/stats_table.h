/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_STATS_TABLE_H
#define CULPRIT_REPORT_COMPARE_STATS_TABLE_H

#include "report/metrics.h"
#include "report/compare/sets.h"
#include "render/table.h"

/* From ranked and weighed sets to the table of `culprit stats`. */

enum stats_sort {
	STATS_BY_VARIES, /* those that vary by range, then the others by sum */
	STATS_BY_RANGE,
	STATS_BY_SUM,
	STATS_BY_MEAN,
	STATS_BY_DEVIATION,
	STATS_BY_CHANCE,
	STATS_BY_NAME,
};
#define STATS_SORTS "varies range sum mean deviation chance name" /* in that order */

struct stats_table {
	enum stats_sort sort;
	uint64_t limit;	     /* rows; 0: all */
	double false_alarms; /* a share */
	bool shares;	     /* the sets are weighed by samples */
	struct metrics metrics;
};

/* Notes in h what was tested and left out. 0, -ENOMEM, -E2BIG; as in metric_bind. */
int stats_table_make(const struct stats_table *p, const struct sets *sets, enum rank_by by,
		     struct report_header *h, struct table **ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_DIFF_TABLE_H
#define CULPRIT_REPORT_COMPARE_DIFF_TABLE_H

#include "analyze/insight.h"
#include "report/compare/diff_rows.h"
#include "report/metrics.h"
#include "render/table.h"

/* From the rows of a difference to its table: order, thresholds, columns, totals. */

enum diff_sort {
	DIFF_BY_CHANGE, /* those that changed, most first; then the others */
	DIFF_BY_DELTA,
	DIFF_BY_A,
	DIFF_BY_B,
	DIFF_BY_RATIO,
	DIFF_BY_CHANCE,
	DIFF_BY_NAME,
};
#define DIFF_SORTS "change delta a b percent chance name" /* in that order */

struct diff_table {
	enum diff_by by;
	enum diff_sort sort;
	uint64_t limit;		      /* rows; 0: all */
	double min_percent;	      /* of the samples of either set, for a row to be shown */
	bool changed;		      /* only rows that changed by more than sampling explains */
	double false_alarms;	      /* a share */
	struct insights *insights[2]; /* NULL: no columns of cycles and causes */
	struct metrics metrics;
};

/* Sorts rows. Notes in h the totals, and what was left out. */
int diff_table_make(const struct diff_table *p, const struct sets *sets, struct diff_rows *rows,
		    struct report_header *h, struct table **ret, struct diag *diag);

#endif

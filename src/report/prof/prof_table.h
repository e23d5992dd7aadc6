/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PROF_PROF_TABLE_H
#define CULPRIT_REPORT_PROF_PROF_TABLE_H

#include "analyze/query/rank.h"
#include "report/metrics.h"
#include "render/table.h"

/* From a ranking to the table of `culprit prof`: order, limit, columns. */
struct prof_table {
	/* An event's label, a metric's or a column's name; NULL: the first event, or inclusive. */
	const char *sort;
	const char *sort_hint; /* to put after its refusal, half a sentence; NULL: none */
	uint64_t limit;	       /* rows; 0: all */
	bool inclusive;	       /* rows have what they called, see analyze/calls/inclusive.h */
	bool balance;	       /* by process: with the balance of each program's processes */
	struct metrics metrics;
	bool events_may_lack; /* a metric without one of its events then has no value */
};

const char *prof_table_by_name(enum rank_by by);

/* Notes in h what the limit left out. q must outlive the table, which has its names as headings.
 * -EINVAL when there is no such column to sort by; -ENOENT: a metric names no event. */
int prof_table_make(const struct prof_table *p, const struct query *q, const struct rank *k,
		    enum rank_by by, struct report_header *h, struct table **ret,
		    struct diag *diag);

#endif

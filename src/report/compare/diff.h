/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_DIFF_H
#define CULPRIT_REPORT_COMPARE_DIFF_H

#include "report/compare/diff_table.h"

/* What changed from one set of samples to another. */

struct diff_options {
	struct diff_table table; /* except for its insights */
	enum sets_normal normal;
	const char *function; /* regular expression; NULL: all */
	bool cpi, idle;	      /* with CPI and causes (of functions alone); with idle functions */
};

struct diff_report {
	struct diff_rows rows;	      /* in the order of the table */
	struct insights *insights[2]; /* NULL: not wanted */
	struct table *table;
};

/*
 * Reads, ranks and weighs two sets, and compares them. Errors as in sets_rank, sets_weigh,
 * insights_new and diff_table_make. ret is freed by diff_free(), after a failure, too.
 */
int diff_make(struct sets *sets, const struct diff_options *o, struct diff_report *ret,
	      struct report_header *h, struct diag *diag);
void diff_free(struct diff_report *r); /* what it owns */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_STATS_H
#define CULPRIT_REPORT_COMPARE_STATS_H

#include "report/compare/stats_table.h"

/* What varies between sets of samples: Figure 3 of Anderson et al., SOSP 1997. */

struct stats_options {
	struct rank_options rank; /* by what no set keeps apart: no process, thread or subject */
	struct stats_table table; /* whether it shows shares follows from normal */
	enum sets_normal normal;
};

struct stats_report {
	struct table *table;
};

/*
 * Reads, ranks and weighs the sets, two or more, and compares them. Errors as in sets_rank,
 * sets_weigh and stats_table_make. ret is freed by stats_report_free(), after a failure, too.
 */
int stats_make(struct sets *sets, const struct stats_options *o, struct stats_report *ret,
	       struct report_header *h, struct diag *diag);
void stats_report_free(struct stats_report *r); /* what it owns */

#endif

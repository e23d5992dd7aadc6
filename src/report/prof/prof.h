/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PROF_PROF_H
#define CULPRIT_REPORT_PROF_PROF_H

#include "report/prof/prof_table.h"
#include "report/session.h"

/* Where the time went, ranked: Figure 1 of Anderson et al., SOSP 1997. */

struct prof_options {
	struct rank_options rank; /* by what, and idle; the rest is of the session's options */
	struct prof_table table;
};

struct prof_report {
	struct rank *rank;	  /* its first rows are those of the table, in their order */
	struct stack_set *stacks; /* NULL: without what was called */
	struct table *table;
};

/*
 * Ranks what the session selects. 0, -EINVAL: options that do not go together, or no such column to
 * sort by; -ENODATA: what was not recorded is asked for; others as in report_session_read, rank_new
 * and prof_table_make. ret is freed by prof_free(), after a failure, too.
 */
int prof_make(struct report_session *s, const struct prof_options *o, struct prof_report *ret,
	      struct report_header *h, struct diag *diag);
void prof_free(struct prof_report *r); /* what it owns */

#endif

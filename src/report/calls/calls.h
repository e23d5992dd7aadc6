/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CALLS_CALLS_H
#define CULPRIT_REPORT_CALLS_CALLS_H

#include <stdio.h>
#include "report/calls/calls_view.h"
#include "report/session.h"

/* Who called what, and what it cost. */

struct calls_options {
	struct tree_options tree; /* its function and image are those of the session's options */
	bool idle;		  /* with the kernel's idle functions */
	enum query_group group;	  /* apart for each */
	bool callers, gprof;	  /* bottom up; gprof's listing */
	const char *function; /* its callers and callees, or what called it; NULL: the whole tree */
	bool page;	      /* for a page, which turns the tree round by itself */
	double prune;	      /* percent of what is shown: what has less is left out */
	double hot;	      /* as in calls_view, like the next ones */
	uint64_t depth, limit;
	struct metrics metrics;
};

struct calls_report {
	struct stack_set *set;
	struct tree *tree, *turned; /* turned: by callers, NULL when not asked for */
	bool *functions;	    /* of the set: those that were named; NULL: none was */
	struct call_counts *counts; /* the rest is for gprof's listing, and for one function */
	struct call_graph *graph;
	struct tree_neighbors *neighbors;
	struct calls_view view; /* what is shown of the tree, in any case */
	struct calls_gprof gprof;
	struct calls_function function;
};

/*
 * Builds the tree. 0, -ENODATA: there are no stacks; -ENOENT, -EEXIST: as in calls_pick; others as
 * of report_session_read and tree_new. o must outlive ret, which calls_free() frees after a
 * failure, too.
 */
int calls_make(struct report_session *s, const struct calls_options *o, struct calls_report *ret,
	       struct report_header *h, struct diag *diag);
void calls_free(struct calls_report *r); /* what it owns */

/* The forms of it; each tells h of metrics. 0 or a negative errno with the sentence. */
int calls_table(const struct calls_report *r, struct report_header *h, struct table **ret,
		struct diag *diag);
int calls_json(const struct calls_report *r, struct report_header *h, FILE *out, struct diag *diag);

/* As a page, of a flame graph. -ENOSPC: it is too large. r must outlive it. */
struct calls_page;
int calls_page_new(const struct calls_report *r, struct report_header *h, struct calls_page **ret,
		   struct diag *diag);
/* 0 or a negative errno. */
int calls_page_write(const struct calls_page *p, const struct report_header *h, FILE *out);
void calls_page_free(struct calls_page *p); /* NULL: nothing */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VIEW_VIEW_H
#define CULPRIT_VIEW_VIEW_H

#include <stdio.h>
#include "report/metrics.h"
#include "report/session.h"

/*
 * What the page of `culprit view` is made from (doc/view.md): the samples of one database or of
 * several, by address and by calling context; what each address is (function, inlined functions,
 * line, loops); the instructions of the functions that matter, and their source. All scopes of the
 * page (program, image, file, function, inlined function, loop, line, instruction) are made from
 * these by the page itself.
 *
 *	view_new(&options, &v);
 *	view_add(v, &session, "name", &header, diag);	for each database
 *	view_finish(v, diag);
 *	view_write(v, &header, out, diag);
 */
struct view;

#define VIEW_SETS_MAX 16 /* databases on one page */

struct view_options {
	bool no_source;	     /* no source text in the page */
	bool no_code;	     /* no instructions */
	bool later;	     /* instructions come by view_more() alone */
	double code_percent; /* functions that make up so much of the time have their instructions
			      */
	struct metrics metrics; /* formulas that the page begins with; borrowed */
};

/* What limits left out of the page. */
struct view_counts {
	uint64_t functions,
		functions_refused;	   /* whose instructions are in it, or would be too many */
	uint64_t sources, sources_refused; /* files with text; past the limit of it */
	uint64_t contexts, scopes;	   /* nodes of stacks; addresses */
};

int view_new(const struct view_options *o, struct view **ret); /* -ENOMEM */
void view_free(struct view *v);

/*
 * Reads what the session selects and adds it. It must stay open until view_finish(). name: of the
 * set, as the page shows it. h: NULL, or what the report's header is told. Errors as in
 * report_session_read; -E2BIG: more than a page should hold.
 */
int view_add(struct view *v, struct report_session *s, const char *name, struct report_header *h,
	     struct diag *diag);
/* Looks up code, lines and source of all that was added. */
int view_finish(struct view *v, struct report_header *h, struct diag *diag);
struct view_counts view_counts(const struct view *v);

/* The data alone, as JSON (view_json.c says what is in it). Errors are the buffer's too. */
struct buf;
int view_json(const struct view *v, const struct report_header *h, struct buf *out);
/* Of what was in view_json() and is not in the page yet: the instructions of a function, by its
 * number, and what is new with them since view_mark_written(). -ENOENT: it has none. */
void view_mark_written(struct view *v);
int view_more(struct view *v, uint32_t function, struct buf *out, struct diag *diag);
/* The whole page into a buffer, as view_write. */
int view_page(const struct view *v, const struct report_header *h, struct buf *out);
/* The whole page, its data compressed. 0 or a negative errno with the sentence. */
int view_write(const struct view *v, const struct report_header *h, FILE *out, struct diag *diag);

#endif

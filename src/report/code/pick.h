/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_PICK_H
#define CULPRIT_REPORT_CODE_PICK_H

#include "analyze/query/functions.h"
#include "report/session.h"

/* The one function that a report is about. */
struct pick {
	struct functions *functions;	/* that may be meant; NULL: none were looked for */
	const struct function_hit *hit; /* NULL: not exactly one */
};

/*
 * Reads the session as a whole. what: a name, a part of one, a regular expression, or an address of
 * the image (0x...). Where executions were counted a whole name also finds a function without
 * samples. -EEXIST: it may be any of several; -ENOENT: there is none; others as in
 * report_session_read. pick_free() in any case.
 */
int pick_function(struct report_session *s, const char *what, struct pick *ret, struct diag *diag);
void pick_free(struct pick *p);

/* The candidates as a table, for the user to choose from, and its header. */
struct table *pick_choices(const struct pick *p, const struct report_session *s,
			   struct report_header *h);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_LIST_H
#define CULPRIT_REPORT_CODE_LIST_H

#include "analyze/insight.h"
#include "analyze/listing.h"
#include "analyze/source.h"
#include "report/code/list_hot.h"
#include "report/code/pick.h"
#include "report/metrics.h"
#include "report/session.h"

/* One function's instructions and source lines with their samples; or a whole source file. */

struct list_options {
	const char *what;	/* as in pick_function; for list_file_make a file */
	enum listing_form form; /* this and the next two: of a function */
	enum isa_syntax syntax;
	bool no_cpi;	    /* samples only */
	double min_percent; /* as in list_hot */
	struct metrics metrics;
};

struct list_report {
	struct pick pick;
	uint64_t *offsets, *counts; /* the function's samples, as in listing_request */
	struct listing *listing;
	struct insights *all;
	struct insight *insight; /* NULL: executions and cycles are not known */
	struct list_hot hot;
	struct table *table;
};

/* Errors as in pick_function and listing_new. o must outlive ret, which list_free() frees after a
 * failure, too. */
int list_make(struct report_session *s, const struct list_options *o, struct list_report *ret,
	      struct report_header *h, struct diag *diag);
void list_free(struct list_report *r); /* what it owns */

/* A file with the samples of each line, of all functions and images that have code of it. */
struct list_file_report {
	struct rank *rank;
	struct sources *sources;
	const struct rank_row **rows; /* of the file, by line */
	size_t row_count;
	enum source_age age; /* of all programs that it is in, the worst */
	struct list_hot hot;
	struct table *table;
};

/*
 * The file's name: its path as debug information has it, or the end of that. -ENOENT: no samples in
 * such a file; -EEXIST: it may be any of several; others as in report_session_read and rank_new. As
 * above, list_file_free() in any case.
 */
int list_file_make(struct report_session *s, const struct list_options *o,
		   struct list_file_report *ret, struct report_header *h, struct diag *diag);
void list_file_free(struct list_file_report *r); /* what it owns */

#endif

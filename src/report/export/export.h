/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_EXPORT_EXPORT_H
#define CULPRIT_REPORT_EXPORT_EXPORT_H

#include "analyze/calls/stack_set.h"
#include "cfg/cfg.h"
#include "exchange/counted.h"
#include "exchange/stacks.h"
#include "report/estimates.h"
#include "util/buf.h"

/* Profiles for other programs: what is made from a session, and written in one form or another. No
 * _make frees anything on failure: its _free frees what ret owns. */

/* Counts of one image's blocks and edges, for optimisers: the image with most samples. */
enum export_code {
	EXPORT_FDATA,
	EXPORT_PREAGGREGATED,
	EXPORT_AUTOFDO,
	EXPORT_BLOCK_COUNTS,
	EXPORT_CODES
};

struct export_code_report {
	struct estimates estimates;
	const struct query_part *part; /* of the image */
	const struct query_image *image;
	struct cfg_image *graphs; /* when nothing tells time */
	struct counted_set *counts;
	uint64_t samples, edges;    /* that the counts are from; outcomes of branches */
	uint64_t functions_counted; /* whose counts are executions, not estimates */
};

/* -ENOENT: no program or library has samples; others as in estimates_read and cfg_image_open. */
int export_code_make(struct report_session *s, const struct estimates_options *o,
		     struct export_code_report *ret, struct diag *diag);
void export_code_free(struct export_code_report *r);
/* -ENOENT: there are no symbols, or no lines, which the form needs. Others are in the buffer. */
int export_code_write(const struct export_code_report *r, enum export_code form, struct buf *to,
		      struct diag *diag);

/* Stacks. */
enum export_stacks {
	EXPORT_FOLDED,
	EXPORT_PPROF,
	EXPORT_SPEEDSCOPE,
	EXPORT_CALLGRIND,
	EXPORT_STACKS
};

struct export_stacks_report {
	struct stack_set *set;
	struct stacks_about about;
};

/* -ENODATA: there are none; others as in report_session_read. */
int export_stacks_make(struct report_session *s, struct export_stacks_report *ret,
		       struct diag *diag);
void export_stacks_free(struct export_stacks_report *r);
/* Errors are in the buffer. */
void export_stacks_write(const struct export_stacks_report *r, enum export_stacks form,
			 struct buf *to);

/* Samples by load module, file, function and line, as XML. */
int export_xml(struct report_session *s, struct buf *to, struct diag *diag);

/*
 * The raw records of single samples, each a line of JSON, piece by piece to write(), which returns
 * 0 or an error to stop with. ret_write_error: that error. -ENODATA: there are none.
 */
int export_raw(struct report_session *s, int (*write)(void *arg, const void *data, size_t size),
	       void *arg, int *ret_write_error, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_CALC_H
#define CULPRIT_REPORT_CODE_CALC_H

#include <stdio.h>
#include "analyze/insight.h"
#include "report/code/pick.h"
#include "report/estimates.h"

/* Functions' blocks and instructions: Figures 2 and 4 of Anderson et al., 1997. */

struct calc_options {
	struct estimates_options estimates;
	const char *function; /* as in pick_function; NULL: all down to the cutoff */
	double cutoff;	      /* percent of the samples that they have together */
	double block_percent; /* blocks with a smaller share of their function are left out */
	enum isa_syntax syntax;
	bool brief; /* summaries alone */
};

struct calc_report {
	const struct calc_options *options;
	struct estimates estimates;
	struct pick pick;
	uint64_t failed, failed_samples; /* functions that calc_each left out */
	struct diag failure;		 /* the first one's */
};

/*
 * Estimates. Errors as in pick_function, estimates_read and estimates_new. o must outlive ret,
 * which calc_free() frees after a failure, too.
 */
int calc_make(struct report_session *s, const struct calc_options *o, struct calc_report *ret,
	      struct report_header *h, struct diag *diag);
void calc_free(struct calc_report *r); /* what it owns */

/*
 * Calls take for each function, the one with most samples first; they are too many to be held all
 * at once. Stops at its first error, a negative errno. One of many that has no code costs only
 * itself, and is counted.
 */
int calc_each(struct calc_report *r, int (*take)(void *arg, const struct insight *one), void *arg,
	      struct diag *diag);

/* Prints header and functions; width: as in table_print. beside: what has no place in CSV, the
 * header, goes here. 0 or a negative errno with the sentence. */
int calc_print(struct calc_report *r, const struct report_header *h, enum table_format format,
	       FILE *out, FILE *beside, int width, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_SUMMARY_H
#define CULPRIT_REPORT_CODE_SUMMARY_H

#include "report/estimates.h"

/* Where the cycles of a program or a machine went, by cause. */

struct summary_options {
	struct estimates_options estimates;
	enum culprit_cause cause; /* functions by what they lose to it; CULPRIT_CAUSES: the whole */
	uint64_t limit;		  /* of those functions */
	double cutoff;		  /* percent of the samples that the functions looked into have */
};

struct summary_part {
	const struct insights_function *function;
	struct insight_summary summary;
};

struct summary_report {
	struct estimates estimates;
	struct insight_summary whole;
	struct summary_part *parts; /* of each function looked into */
	size_t part_count;
	uint64_t failed, failed_samples; /* functions that could not be looked into */
	struct diag failure;		 /* the first one's */
	struct table *table;
};

/* Errors as in estimates_read. o must outlive ret, which summary_free() frees if it fails, too. */
int summary_make(struct report_session *s, const struct summary_options *o,
		 struct summary_report *ret, struct report_header *h, struct diag *diag);
void summary_free(struct summary_report *r); /* what it owns */

#endif

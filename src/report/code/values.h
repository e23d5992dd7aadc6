/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_VALUES_H
#define CULPRIT_REPORT_CODE_VALUES_H

#include "analyze/listing.h"
#include "analyze/values/value_tally.h"
#include "report/code/pick.h"
#include "report/session.h"

/* What values instructions had: those of a function, or the places of all that have most samples.
 */
struct values_report_options {
	double invariant_percent;	 /* only places whose top value has that share; 0: all */
	bool arguments, strides, widths; /* only these; none: all kinds */
	uint64_t limit;			 /* of the ranking's rows */
	enum isa_syntax syntax;
};

struct values_report {
	struct pick pick; /* of a function's report */
	struct value_tally tally;
	struct listing *listing;
	struct table *table;
};

/* what: of a function, as for pick_function(), with its errors; NULL: the ranking, of the functions
 * that --function matches. -ENODATA: there are no values. values_report_free() in any case. */
int values_report_make(struct report_session *s, const struct values_report_options *o,
		       const char *what, struct values_report *ret, struct report_header *h,
		       struct diag *diag);
void values_report_free(struct values_report *r); /* what it owns */

#endif

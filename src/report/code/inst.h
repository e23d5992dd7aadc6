/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_INST_H
#define CULPRIT_REPORT_CODE_INST_H

#include "analyze/inst/tally.h"
#include "isa/decode.h"
#include "report/code/pick.h"
#include "report/session.h"

/* What processors told of single instructions: of those of a function, or of the first of all by
 * one of the things that they tell. */

/* What instructions are ranked by: one of these (latency: the cycles of the longest stage that is
 * told), an event, or a latency. */
enum inst_by {
	INST_BY_SAMPLES,
	INST_BY_ABORTS,
	INST_BY_CYCLES,
	INST_BY_EVENT,					    /* the first; the others follow */
	INST_BY_LATENCY = INST_BY_EVENT + INST_EVENT_COUNT, /* likewise */
};
#define INST_BY_NAME(field, name, help) " " name
#define INST_BY_NAMES \
	"samples aborts latency" INST_EVENT_LIST(INST_BY_NAME) INST_LATENCY_LIST(INST_BY_NAME)

struct inst_options {
	unsigned by;	/* enum inst_by: the number of one of INST_BY_NAMES */
	uint64_t limit; /* of the ranking's rows */
	enum isa_syntax syntax;
};

struct inst_report {
	struct pick pick; /* of a function's report */
	struct inst_tally tally;
	struct listing *listing;
	struct table *table;
};

/* The instructions of a function: what is as for pick_function(), with its errors. -ENODATA: the
 * selection, or the function, has no instruction samples. inst_free() in any case. */
int inst_function_make(struct report_session *s, const struct inst_options *o, const char *what,
		       struct inst_report *ret, struct report_header *h, struct diag *diag);
/* The ranking, of the functions that --function matches. -ENODATA as above. */
int inst_ranking_make(struct report_session *s, const struct inst_options *o,
		      struct inst_report *ret, struct report_header *h, struct diag *diag);
void inst_free(struct inst_report *r); /* what it owns */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_INSIGHTS_H
#define CULPRIT_CMD_INSIGHTS_H

#include <regex.h>
#include "analyze/insight.h"
#include "cmd/metrics.h"
#include "cmd/pick.h"
#include "cmd/report.h"

/* What the reports at the level of instructions share: calc, stalls, summary, list. */

struct insights_session {
	struct report_options report;
	bool classic, has_regex;
	regex_t regex; /* of --function */
	struct db_reader *reader;
	struct image_finder *finder;
	struct query *query;
	struct insights *all;
	struct metrics metrics; /* of the commands that have --metric */
	struct metrics_bound bound;
	uint64_t idle; /* samples of the kernel's idle functions, which these reports leave out */
};

enum { INSIGHTS_CLASSIC = REPORT_OPTION_END, INSIGHTS_OPTION_END };

/* What --cause may be, for a shell to offer. */
#define INSIGHTS_CAUSES                                                                            \
	"dcache dtlb icache itlb branch_mispredict store_buffer store_forward divider dependency " \
	"port front_end lock fence assist page_fault syscall interrupts_off unexplained"

/* clang-format off */
#define INSIGHTS_OPTIONS                                                                           \
	{"classic", INSIGHTS_CLASSIC, NULL, "frequencies by the rule of DCPI, from samples alone"}
/* clang-format on */

/* As report_take_option, for the options above too. */
int insights_take_option(struct insights_session *s, int value, const char *text,
			 struct diag *diag);

/* The text of --cause. -EINVAL when it names none. */
int insights_take_cause(const char *text, enum culprit_cause *ret, struct diag *diag);

/*
 * Opens everything and estimates. -ENOENT: --image has no samples; -ENODATA: no event tells time.
 * What was opened is closed by insights_close, also on failure.
 */
int insights_open(struct insights_session *s, struct diag *diag);
void insights_close(struct insights_session *s);
/* The same with what the picking of a function has opened; takes that over. */
int insights_open_picked(struct insights_session *s, struct pick *p, struct diag *diag);

/* The header: what all reports have, and what the estimates rest on. 0 or -ENOMEM. */
int insights_describe(struct insights_session *s, struct report_header *h);

/* Why a profile has no edges, which would narrow the estimates. */
const char *insights_without_edges(const struct db_reader *reader);

/* Prints the table under its header, or says that err, if any, was lack of memory. Frees both. */
int insights_print(struct insights_session *s, struct table *t, struct report_header *h, int err,
		   struct diag *diag);

/* True for functions that are not to be shown: idle ones, and those that --function leaves out. */
bool insights_skips(const struct insights_session *s, const struct insights_function *f);

const char *insights_confidence(enum frequency_confidence c); /* "low", "medium", "high" */

#endif

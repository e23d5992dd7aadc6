/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_ESTIMATES_H
#define CULPRIT_REPORT_ESTIMATES_H

#include <regex.h>
#include "analyze/insight.h"
#include "report/metrics.h"
#include "report/session.h"

/* What the reports at the level of instructions share: how often everything that a session selects
 * ran, and what it cost. */

struct estimates_options {
	bool classic;		/* frequencies by DCPI's rule */
	struct metrics metrics; /* of the reports that have --metric */
};

struct estimates {
	struct report_session *session;
	bool classic, has_regex;
	regex_t regex; /* of --function */
	struct insights *all;
	struct metrics_bound bound;
	uint64_t idle; /* samples of the kernel's idle functions, which these reports leave out */
};

/*
 * Reads the session and estimates. -ENOENT: --image has no samples; -ENODATA: no event tells time,
 * and the metrics are bound all the same. ret is all zeros before; estimates_free() in any case,
 * also after a failure.
 */
int estimates_read(struct estimates *ret, struct report_session *s,
		   const struct estimates_options *o, struct diag *diag);
/* The same for a session that was already read as a whole; --function leaves nothing out. */
int estimates_new(struct estimates *ret, struct report_session *s,
		  const struct estimates_options *o, struct diag *diag);
void estimates_free(struct estimates *e); /* what it owns */

/* The header: what all reports have, and what the estimates rest on. */
void estimates_describe(struct estimates *e, struct report_header *h);
/* ... and, of reports with percentages, what those are of. */
void estimates_describe_shares(const struct estimates *e, struct report_header *h);

/* Samples of the event that tells time, idle functions left out. */
uint64_t estimates_samples(const struct estimates *e);

/* The selection leaves samples out, so that percentages have another base than prof's. */
bool estimates_are_part(const struct estimates *e);

/* True for functions that are not to be shown: idle ones, and those that --function leaves out. */
bool estimates_skips(const struct estimates *e, const struct insights_function *f);

const char *estimates_confidence(enum frequency_confidence c); /* "low", "medium", "high" */

/* Why a profile has no edges, which would narrow the estimates. */
const char *estimates_without_edges(const struct db_reader *reader);

#endif

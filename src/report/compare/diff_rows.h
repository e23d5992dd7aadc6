/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_DIFF_ROWS_H
#define CULPRIT_REPORT_COMPARE_DIFF_ROWS_H

#include "analyze/compare/diff_code.h"
#include "analyze/compare/match_lines.h"
#include "analyze/compare/stats.h"
#include "report/compare/sets.h"

/* The rows of `culprit diff`: what two sets have in common, and what only one has. */

enum diff_by { DIFF_FUNCTION, DIFF_IMAGE, DIFF_FILE, DIFF_LINE, DIFF_BLOCK, DIFF_INSTRUCTION };
#define DIFF_NAMES "function image file line block instruction" /* in that order */

struct diff_row {
	const struct match_pair *pair;
	uint64_t address[2], end[2]; /* ISA_NO_ADDRESS: none */
	uint64_t count[2];
	const struct stats_row *stats;
};

struct diff_rows {
	struct diff_row *list;
	size_t count;

	/* Private. */
	struct diff_side sides[2];
	struct rank *functions[2]; /* by line: of the same queries, to align their code */
	struct match_lines *lines; /* by line */
	struct match *match;
	struct diff_code *code; /* NULL: not by block or instruction */
	struct stats *stats;
};

/* How the sets must be ranked. */
enum rank_by diff_rank(enum diff_by by);
/* sets: two, ranked and weighed. 0 or -ENOMEM. */
int diff_rows_new(const struct sets *sets, enum diff_by by, bool shares, double false_alarms,
		  struct diff_rows *ret);
void diff_rows_free(struct diff_rows *d); /* what it owns */

#endif

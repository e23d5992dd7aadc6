/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_DIFF_ROWS_H
#define CULPRIT_CMD_DIFF_ROWS_H

#include "analyze/diff_code.h"
#include "analyze/stats.h"
#include "cmd/sets.h"

/* The rows of `culprit diff`: what two sets have in common, and what only one has. */

enum diff_by { DIFF_FUNCTION, DIFF_IMAGE, DIFF_FILE, DIFF_LINE, DIFF_BLOCK, DIFF_INSTRUCTION };

struct diff_row {
	const struct match_pair *pair;
	uint64_t address[2], end[2]; /* ISA_NO_ADDRESS: none */
	uint64_t count[2];
	const struct stats_row *stats;
};

struct diff_rows {
	struct diff_row *list;
	size_t count;

	/* Its own business. */
	struct diff_side sides[2];
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

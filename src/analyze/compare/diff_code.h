/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_DIFF_CODE_H
#define CULPRIT_ANALYZE_COMPARE_DIFF_CODE_H

#include "analyze/compare/match.h"

/* Samples of two profiles by instruction or block, brought together in matched functions. */

struct diff_side {
	struct match_side match;
	const struct query *query;
	uint32_t event;		   /* of the query, the one compared */
	struct rank_source graphs; /* for blocks */
};

/* One instruction or block that has samples on a side. */
struct diff_unit {
	const struct match_pair *pair;
	uint64_t address[2]; /* ISA_NO_ADDRESS: this side does not have it */
	uint64_t end[2];     /* just after it */
	uint64_t count[2];
};

struct diff_code {
	struct diff_unit *units;
	size_t count;
	size_t without_code;   /* matched functions whose code is not there to be aligned */
	size_t partly_aligned; /* matched functions too long to align whole */
	size_t without_graphs; /* by block: matched functions whose instructions are rows instead */
};

/* 0 or -ENOMEM. */
int diff_code_new(const struct diff_side sides[2], const struct match *match, bool blocks,
		  struct diff_code **ret);
void diff_code_free(struct diff_code *d);

#endif

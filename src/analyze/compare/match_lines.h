/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_MATCH_LINES_H
#define CULPRIT_ANALYZE_COMPARE_MATCH_LINES_H

#include "analyze/compare/diff_code.h"

/*
 * Which source line of one profile corresponds to which of another, even if lines above it were
 * added or removed between them. A file whose text is the same by its MD5 keeps its numbers. Else
 * the code tells: the instructions of matched functions are aligned (diff_code.h), and a line
 * corresponds to the one that most of its instructions belong to in the other build. A line without
 * such instructions moves as the nearest line above it in its file did. Where there is none, only
 * its number is left to go by.
 */

struct match_lines {
	struct match_line *of; /* for each row of the first side's ranking by line */

	/* Private. */
	struct intern *names;
};

/* functions: the rankings by function of the same queries, in sides; lines: those by line. 0,
 * -ENOMEM, or -ENOSPC for too many lines. */
int match_lines_new(const struct diff_side functions[2], const struct rank *const lines[2],
		    struct match_lines **ret);
void match_lines_free(struct match_lines *m);

#endif

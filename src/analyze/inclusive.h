/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INCLUSIVE_H
#define CULPRIT_ANALYZE_INCLUSIVE_H

#include "analyze/rank.h"
#include "analyze/stack_set.h"

/*
 * Adds to a ranking by function, image, file or line what each row took with all that it called,
 * and rows for what has no samples of its own but is on stacks.
 *
 * Stacks are taken with a part of the samples only. So a row's samples are as they were counted,
 * and what it called is estimated: the stacks that it is on but does not end, as a share of all
 * stacks, of all samples. A stack counts once, however often the row is on it.
 */

/* Whether it can be said: of function, image, file, line. */
bool inclusive_is_known(enum rank_by by);
/* The stacks of the query that was ranked, finished; with the lines if by file or line. They must
 * outlive the ranking. -EINVAL: the regex is wrong; -ENOSPC, -ENOMEM. */
int inclusive_add(struct rank *k, const struct rank_options *options, const struct stack_set *s,
		  struct diag *diag);

#endif

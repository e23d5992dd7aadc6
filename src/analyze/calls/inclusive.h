/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_INCLUSIVE_H
#define CULPRIT_ANALYZE_CALLS_INCLUSIVE_H

#include "analyze/query/rank.h"
#include "analyze/calls/stack_set.h"

/*
 * Adds to a ranking by function, image, file or line what each row took with all that it called,
 * and rows for what has no samples of its own but is on stacks.
 *
 * A row's total is its own samples, as they were counted, plus those of stacks that it is on but
 * that were taken elsewhere. A stack counts once, however often the row is on it. Stacks stand for
 * samples (analyze/calls/stack_set.h): so a function's total is what the calling context tree and
 * all exports say of it. The samples of an interpreter's evaluator, which on stacks belong to what
 * it ran, are in counts its own; in the row's field own, which rows by function and image have,
 * they belong to what it ran.
 */

/* Whether there are such totals: by function, image, file and line. */
bool inclusive_is_known(enum rank_by by);
/* s: finished stacks of the query that was ranked, which must be of all images; with lines if by
 * file or line. They must outlive the ranking. -EINVAL: the regex is wrong; -ENOSPC, -ENOMEM. */
int inclusive_add(struct rank *k, const struct rank_options *options, const struct stack_set *s,
		  struct diag *diag);

#endif

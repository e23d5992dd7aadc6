/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INCLUSIVE_H
#define CULPRIT_ANALYZE_INCLUSIVE_H

#include "analyze/rank.h"
#include "analyze/stack_set.h"

/*
 * Adds to a ranking by function, image, file or line what each row took with all that it called,
 * and rows for what has no samples of its own but is on stacks.
 *
 * A row's total is its own samples, as they were counted, and those of the stacks that it is on
 * which were taken elsewhere. A stack counts once, however often the row is on it. Stacks stand for
 * samples (analyze/stack_set.h): so a function's total is what the calling context tree and all
 * exports say of it. An interpreter's evaluator, whose samples are on stacks those of what it ran,
 * has its own.
 */

/* Whether it can be said: of function, image, file, line. */
bool inclusive_is_known(enum rank_by by);
/* The stacks of the query that was ranked, which must be of all images, finished; with the lines if
 * by file or line. They must outlive the ranking. -EINVAL: the regex is wrong; -ENOSPC, -ENOMEM. */
int inclusive_add(struct rank *k, const struct rank_options *options, const struct stack_set *s,
		  struct diag *diag);

#endif

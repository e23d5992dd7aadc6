/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_KEEP_WANTED_H
#define CULPRIT_COLLECT_KEEP_WANTED_H

#include "collect/keep/keeper.h"
#include "db/batch.h"

/* Asks the keeper for the functions that a batch has samples in, or that its stacks go through,
 * before the batch is cleared. last: collection ends. -ENOMEM: some were not asked for; they are
 * when they come again. */
int wanted_functions(struct keeper *k, const struct db_batch *b, bool last);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_MERGE_H
#define CULPRIT_DB_MERGE_H

#include "db/pack.h"

/*
 * Merges the items of several packs, kind by kind, in order, and adds up equal ones. Holds one
 * chunk of each pack in memory, as its streams: items are decoded one at a time.
 */
struct merge_input {
	const struct pack *pack;
	const bool *good; /* for each entry of its catalog: whether to read it */
};

/*
 * Calls f for each item of a kind in all good chunks, in order, equal ones as one; an item is valid
 * during its call only. Ends with what f returned if that is not 0.
 */
int merge_each(const struct db_kind *kind, const struct merge_input *inputs, size_t count,
	       int (*f)(void *arg, const void *item), void *arg);

/*
 * Writes all good chunks of the inputs to out. An image that has several paths gets that of the
 * first input. Where the chunks of an input do not ascend (see pack.h), the output does not either,
 * at that place; still it holds every item, and no count twice. Errors of reading are returned as
 * well: an input that was found to be good must not fail.
 */
int merge_packs(const struct merge_input *inputs, size_t count, struct pack_writer *out);

#endif

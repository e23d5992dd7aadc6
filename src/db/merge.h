/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_MERGE_H
#define CULPRIT_DB_MERGE_H

#include "db/pack.h"

/*
 * Merges the rows or the edges of several packs into one order, adding up equal ones. Holds one
 * chunk of each in memory, and of it only the streams, never the rows.
 */
struct merge_input {
	const struct pack *pack;
	const bool *good; /* for each entry of its catalog: whether to take it */
};

/*
 * Calls f for each row; a row of several inputs has the path of the first of them. Returns what f
 * returned if that was not 0, or an error of reading: an input that was good may not fail.
 */
int merge_rows(const struct merge_input *inputs, size_t count,
	       int (*f)(void *arg, const struct db_row *row), void *arg);
/*
 * The same for edges. An input whose chunks do not rise (see pack.h) makes the order fall where
 * they do; everything is still there once.
 */
int merge_edges(const struct merge_input *inputs, size_t count,
		int (*f)(void *arg, const struct db_edge_item *e), void *arg);
/* ... and for stacks, and raw records. */
int merge_stacks(const struct merge_input *inputs, size_t count,
		 int (*f)(void *arg, const struct db_stack_item *s), void *arg);
int merge_raws(const struct merge_input *inputs, size_t count,
	       int (*f)(void *arg, const struct db_raw_item *r), void *arg);

#endif

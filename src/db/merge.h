/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_MERGE_H
#define CULPRIT_DB_MERGE_H

#include "db/pack.h"

/*
 * Merges the items of several packs, kind by kind, into one order each, adding up equal ones. Holds
 * one chunk of each pack in memory, and of it only the streams, never the items.
 */
struct merge_input {
	const struct pack *pack;
	const bool *good; /* for each entry of its catalog: whether to take it */
};

/*
 * Writes them; what is in several inputs has the paths of the first of them. An input whose chunks
 * are not ascending (see pack.h) makes the order descend where they do; everything is still there
 * once. An error of reading too: an input that was good may not fail.
 */
int merge_packs(const struct merge_input *inputs, size_t count, struct pack_writer *out);

#endif

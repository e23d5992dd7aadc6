/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_STREAM_H
#define CULPRIT_DB_STREAM_H

#include "db/catalog.h"
#include "db/epoch.h"
#include "db/merge.h"

/*
 * One epoch as a stream of its items, kind by kind, each once, with the sum of all its packs: for
 * who copies an epoch elsewhere. Takes no lock. What is read is the epoch as it was when it was
 * opened; its state is named by the number of its last flush, which only grows: two readers that
 * find the same number find the same items, whatever was compacted in between.
 */
struct db_stream {
	struct epoch epoch;
	struct merge_input *inputs; /* a pack of the epoch each */
	struct db_batch *sums;	    /* what all packs say of themselves */
	struct catalog about;	    /* the same: lists are borrowed from sums */
	uint64_t damaged;	    /* chunks that cannot be read, and are left out */
};

/*
 * Opens an epoch, and checks all of it. 0; -ENOENT: it is gone; -EIO and others: a part of it
 * cannot be read now. The stream must be zeroed; db_stream_close() in any case.
 */
int db_stream_open(const struct io *io, const char *db, const char *machine, const char *epoch,
		   struct db_stream *ret, struct diag *diag);
void db_stream_close(struct db_stream *s);

/* Whether the flushes after that number are all in packs of their own. */
bool db_stream_has_since(const struct db_stream *s, uint32_t flush);
/* Calls f for each item of a kind in the packs of the flushes after that number (0: in all), in
 * order. Ends with what f returned if that is not 0. */
int db_stream_each(const struct db_stream *s, const struct db_kind *kind, uint32_t after,
		   int (*f)(void *arg, const void *item), void *arg);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BATCH_ROWS_H
#define CULPRIT_DB_BATCH_ROWS_H

#include <stdbool.h>
#include "db/batch.h"
#include "db/key.h"
#include "util/hash.h"

/* The inside of a batch, for batch.c, batch_*.c and the writer only. */

/*
 * The rows are one open-addressing table of 16-byte slots with linear probing, at most 4/5 full. It
 * starts small, doubles up to what max_rows needs, and is given back by a clear, so an idle batch
 * costs a few KB. A count over 32 bits keeps its upper half in a second slot, whose profile has
 * DB_PROFILE_HIGH set.
 */
struct db_batch_slot {
	uint32_t profile; /* DB_SLOT_FREE: none */
	uint32_t count;
	uint64_t offset;
};

#define DB_SLOT_FREE	UINT32_MAX
#define DB_PROFILE_HIGH 0x80000000u

/*
 * The table is far larger than the cache, so a count waits in a queue from the look at its slot
 * (a prefetch) to the next ones' turn. The table always has room for what waits.
 */
#define DB_QUEUE 16 /* a power of two */

struct db_batch_waiting {
	uint32_t profile, count;
	uint64_t offset, hash;
};

/* Edges are another table of the same kind, far smaller. count 0: a free slot. */
struct db_batch_edge {
	uint32_t image, to_image, event;
	uint64_t from, to, count, windows;
};

struct db_batch_profile {
	uint32_t image, event, subject;
};

struct db_batch_path {
	char *data;
	size_t size;
};

/* Whole keys that are counted. keys: NULL before the first. */
struct db_batch_counted {
	struct intern *keys;
	uint64_t *counts;
	size_t room;
};

struct db_batch {
	struct db_batch_slot *slots;
	size_t slot_count, used, max_rows;
	struct db_batch_waiting queue[DB_QUEUE]; /* a ring */
	uint32_t queue_first, queue_count;
	struct db_batch_edge *edges;
	size_t edge_room, edge_count;
	struct db_batch_counted stacks, raws;

	/* One number space each; the arrays beside have room for *_room entries. */
	struct intern *images, *events, *subjects, *profiles, *counters, *facts;
	struct db_batch_path *paths;
	struct db_event *event_list;
	struct db_counter *counter_list;
	struct db_fact *fact_list;
	size_t path_room, event_room, counter_room, fact_room;
	size_t dict_bytes;
	uint64_t start_ns, end_ns, samples;
};

/* Counts what waits in the queue. Whoever looks at the table does this first; to others it has no
 * effect that can be seen, which is what lets it take a batch that is const. */
void db_batch_settle(const struct db_batch *b);

/*
 * Calls f for each row (edge), sorted as db_row_compare (db_edge_compare) says. Returns what f
 * returned if that was not 0, or -ENOMEM.
 */
int db_batch_each(const struct db_batch *b, int (*f)(void *arg, const struct db_row *row),
		  void *arg);
int db_batch_each_edge(const struct db_batch *b, int (*f)(void *arg, const struct db_edge_item *e),
		       void *arg);
/* ... and each stack, as db_stack_compare. */
int db_batch_each_stack(const struct db_batch *b,
			int (*f)(void *arg, const struct db_stack_item *s), void *arg);
/* ... and each raw record, as db_raw_compare. */
int db_batch_each_raw(const struct db_batch *b, int (*f)(void *arg, const struct db_raw_item *r),
		      void *arg);

/* 0, -ENOSPC when there are max keys (then nothing was added), -ENOMEM. */
int db_batch_counted_add(struct db_batch_counted *c, size_t max, const void *key, size_t size,
			 uint64_t count);
size_t db_batch_counted_size(const struct db_batch_counted *c);
void db_batch_counted_drop(struct db_batch_counted *c);
/* The numbers of the keys in order; compare gets two and the batch. NULL: no memory. free() it. */
uint32_t *db_batch_counted_sort(const struct db_batch *b, const struct db_batch_counted *c,
				int (*compare)(const void *, const void *, void *batch));

/* Whether a dictionary gave this number. */
bool db_batch_knows(const struct intern *dict, uint32_t index);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BATCH_ROWS_H
#define CULPRIT_DB_BATCH_ROWS_H

#include <stdbool.h>
#include "db/chunk.h"
#include "util/hash.h"

/* The inside of a batch, for batch.c, batch_*.c and the writer only. */

/*
 * The rows are an open-addressing table of 16-byte slots with linear probing, at most 4/5 full. It
 * starts small, doubles up to what max_rows needs, and is freed by a clear, so that an idle batch
 * costs a few KB. A count over 32 bits keeps its upper half in a second slot, whose profile has
 * DB_PROFILE_HIGH set.
 */
struct db_batch_slot {
	uint32_t profile; /* DB_SLOT_FREE: the slot is empty */
	uint32_t count;
	uint64_t offset;
};

#define DB_SLOT_FREE	UINT32_MAX
#define DB_PROFILE_HIGH 0x80000000u

/*
 * The table is far larger than the cache. So an added count prefetches its slot and then waits in a
 * queue until the counts after it have been queued. The table always has room for what is queued.
 */
#define DB_QUEUE 16 /* a power of two */

struct db_batch_waiting {
	uint32_t profile, count;
	uint64_t offset, hash;
};

struct db_batch_profile {
	uint32_t image, event, subject;
};

struct db_batch_image_path {
	char *data;
	size_t size;
};

/* Counted keys: the items of a kind (see kind.h). keys is NULL before the first. */
struct db_batch_sums {
	uint64_t count, more[DB_KIND_MORE]; /* more: for kinds that add up other numbers, too */
};

struct db_batch_counted {
	struct intern *keys;
	struct db_batch_sums *sums;
	size_t room;
};

struct db_batch {
	struct db_batch_slot *slots;
	size_t slot_count, used, max_rows;
	struct db_batch_waiting queue[DB_QUEUE]; /* a ring */
	uint32_t queue_first, queue_count;
	struct db_batch_counted counted[DB_KIND_TYPES]; /* by type of chunk; rows are in slots */
	struct value_summary **summaries; /* beside the keys of values; room for summary_room */
	size_t summary_room;

	/* Each dictionary has its own numbers. The arrays below have room for *_room entries. */
	struct intern *images, *events, *subjects, *profiles, *counters, *facts;
	struct db_batch_image_path *paths;
	struct db_event *event_list;
	struct db_counter *counter_list;
	struct db_fact *fact_list;
	size_t path_room, event_room, counter_room, fact_room;
	size_t dict_bytes;
	uint64_t start_ns, end_ns, samples;
};

/* Counts what is in the queue. Code that reads the table must call this first; it has no other
 * visible effect, which is why it takes a const batch. */
void db_batch_settle(const struct db_batch *b);

/* Calls f for each row, in the order of db_row_compare: the "each" function of the kind of rows.
 * Ends with what f returned if that is not 0. */
int db_batch_each_row(const struct db_batch *b, int (*f)(void *arg, const void *item), void *arg);

/* Adds to the sums of a key. 0, or, with nothing added: -ENOSPC when the kind has max keys;
 * -ENOMEM. */
int db_batch_counted_add(struct db_batch *b, uint32_t type, size_t max, const void *key,
			 size_t size, struct db_batch_sums sums);
size_t db_batch_counted_size(const struct db_batch_counted *c);
void db_batch_counted_drop(struct db_batch_counted *c);
/* An image's path. */
struct db_bytes db_batch_image_path(const struct db_batch *b, uint32_t image);

/* The order of two images or subjects, given by their numbers: 0 only if these are equal. */
int db_batch_compare_images(const struct db_batch *b, uint32_t x, uint32_t y);
int db_batch_compare_subjects(const struct db_batch *b, uint32_t x, uint32_t y);

struct catalog;
/* Adds what a pack says of itself: counters add up, the last fact of a name stays, the interval is
 * widened to the pack's. 0, -ENOSPC, -ENOMEM. */
int db_batch_add_catalog(struct db_batch *b, const struct catalog *t);

/* Whether a dictionary has an entry of this number. */
bool db_batch_knows(const struct intern *dict, uint32_t index);

#endif

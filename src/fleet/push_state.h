/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_PUSH_STATE_H
#define CULPRIT_FLEET_PUSH_STATE_H

#include "db/stream.h"
#include "fleet/ids.h"
#include "fleet/push.h"
#include "fleet/tables.h"
#include "image/symbols.h"
#include "util/hash.h"

/* The inside of a push, for push*.c only. */
#define PUSH_NAMES_MAX (4u << 20) /* distinct names of one epoch, of a sort */

/* An image of the epoch. */
struct push_image {
	struct image_id id;
	uint64_t number;
	struct image_symbols *symbols; /* those that the database keeps; NULL: none */
};

struct push {
	struct fleet_server *server;
	const struct fleet_push_options *options;
	struct fleet_push_result *result;
	struct fleet_rows rows;
	struct diag *diag;

	/* The epoch that is being pushed. */
	const char *machine, *epoch_name;
	struct db_stream stream;
	uint64_t epoch;
	uint16_t day;
	uint32_t pushed;	 /* up to this flush it is there */
	bool partly;		 /* only what changed since is sent: what `changed` holds */
	struct map64 *changed;	 /* hashes of the keys of items */
	struct map64 *functions; /* the same of the sums by function, all of the epoch's */

	/* What was named already, by number; of images, with their place in images. */
	struct map64 *seen_images, *seen_events, *seen_subjects, *seen_stacks;
	struct push_image **images;
	size_t image_count, image_room;
	/* The last of each that was asked for, as they come in runs. */
	struct push_image *last_image_entry;
};

/* push_names.c: the numbers of things, which are named at their first use in an epoch. 0, or as
 * fleet_row_end; the diag is the push's. */
int push_image(struct push *p, const struct image_id *id, const struct db_bytes *path,
	       struct push_image **ret);
int push_event(struct push *p, const struct db_event *event, uint64_t *ret);
int push_subject(struct push *p, const struct db_bytes *subject, uint64_t *ret);
void push_names_forget(struct push *p);
/* push_blobs.c: of the epoch's images, what the fleet does not have. */
int push_blobs(struct push *p);
/* The symbols of an image in the database; NULL: none, or out of memory. */
struct image_symbols *push_symbols(const struct push *p, const struct image_id *id);

/* push_functions.c: adds samples up by function, from rows in ascending order; sends a function
 * when its last row has come. */
struct push_function {
	struct push_image *image; /* NULL: none yet */
	uint64_t event, fn;
	const struct image_function *at; /* NULL: the offset is in none */
	struct map64 *counts;		 /* by subject */
	bool changed;			 /* some row of it */
};
int push_function_add(struct push *p, struct push_function *f, struct push_image *image,
		      uint64_t event, uint64_t subject, const struct db_row *row, bool changed);
int push_function_end(struct push *p, struct push_function *f);
/* Takes back sums that an earlier push sent of functions that are others now, as symbols were found
 * since. */
int push_functions_settle(struct push *p);

/* push_rows.c, push_items.c, push_chunks.c: samples and functions; stacks and edges; all the
 * others. */
int push_samples(struct push *p);
int push_stacks(struct push *p);
int push_edges(struct push *p);
int push_chunks(struct push *p);

/* Whether an item is to be sent, by the hash of its key. */
bool push_wants(const struct push *p, uint64_t key);
/* push_changed.c: notes which items of a kind changed since the last push; f gives an item's key.
 * 0, -ENOMEM. */
int push_note_changed(struct push *p, const struct db_kind *kind,
		      uint64_t (*key)(const void *item));
uint64_t push_key_row(const void *item);
uint64_t push_key_stack(const void *item);
uint64_t push_key_edge(const void *item);

/* push_epoch.c: an epoch whole. */
int push_epoch(struct push *p, bool sealed);

#endif

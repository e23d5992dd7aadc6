/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_KIND_H
#define CULPRIT_DB_KIND_H

#include <stdbool.h>
#include "db/chunk.h"
#include "db/dict_build.h"

/* A noun: its form for one, and for any other number. */
struct db_noun {
	const char *one, *many;
};

/* A chunk that is being read. The cursor structure of each kind begins with this: the chunk's
 * streams, the position in each, and the names that it uses. */
struct kind_cursor {
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct cursor at[CHUNK_STREAMS_MAX]; /* empty where a stream is not read in steps */
	struct dict_images images;
	struct db_event *events;
	struct db_bytes *subjects;
	uint32_t event_count, subject_count;
	uint32_t count, seen; /* items of the chunk; of these, decoded so far */
};

/* A chunk under construction. The builder structure of each kind begins with this. */
struct kind_builder {
	struct dict_builder names;
	uint32_t count;	  /* items added so far */
	const void *last; /* the last item, or NULL if the order of items needs no check */
	struct dict_event last_event;
};

/*
 * Kinds of chunks: a table of what a database can hold, with a row (struct db_kind) for each kind.
 *
 * A kind is a set of counted items: rows, edges, stacks, ... Each kind has a C structure for its
 * items, in which what a batch refers to by number is given itself; code that handles items knows
 * of them only what the row says. A database does all its work by walking the table:
 *   write    a batch gives the items in order (make), a builder makes chunks of them (add, encode)
 *   read     a cursor over a chunk gives them back (open, next), ascending, or -EBADMSG
 *   merge    compare orders them; equal ones are one, whose sums add up (and merge does the rest)
 *   check    all is decoded; the sum of the counts must be what the chunk's header says
 *   tell     what damage costs, verify's totals, and the counter of what compaction lost
 * The images that a chunk refers to stand at the start of its stream 0, whatever its kind, so that
 * versions that do not know a kind keep the blobs of its images too (see orphans.c). Chunks of an
 * unknown kind are neither decoded nor counted: their checksum is checked, readers pass over them,
 * and compaction copies them.
 */
struct db_kind {
	uint32_t type;	      /* in the chunk's header; less than DB_KIND_TYPES */
	struct db_noun items; /* the noun for items: "raw records" */
	const char *json;     /* their name in verify's JSON object */
	struct db_noun total; /* for the sum of counts: "passes"; NULL: not shown by verify */
	struct db_noun loss;  /* in "lost: 12 passes over 3 edges": "passes over" */
	const char *lost;     /* name of the counter of what compaction found damaged */
	size_t item_size;
	/* Offsets in an item of the numbers (uint64_t) that are added up: its count, and possibly
	 * more (0: there is none). */
	size_t count_at, more_at[DB_KIND_MORE];
	/* Whether the index tells which images are in a chunk; the offsets in an item of its image
	 * (const struct image_id *) and of the image's path (struct db_bytes). */
	bool is_labelled;
	size_t image_at, path_at;
	/* The order of two items by everything but the numbers that are added up: negative, 0 or
	 * positive. */
	int (*compare)(const void *x, const void *y);
	/* Adds to an item what an equal one has beside the numbers that are added up; NULL where
	 * that is nothing. */
	void (*merge)(void *to, const void *equal);
	/* Makes a copy of an item that outlives its chunk; the caller frees it. NULL for a kind
	 * whose items ascend within their chunks, but need not do so from one chunk to the next. */
	void *(*keep)(const void *item);

	/* Makes the item of the key of that number in a batch, at the start of room_size bytes. */
	void (*make)(const struct db_batch *b, uint32_t key, void *ret_room);
	size_t room_size;
	/* Compares two keys, given by their numbers, without making items of them; NULL if a kind
	 * cannot. */
	int (*compare_keys)(const void *x, const void *y, void *batch);
	/* kind_each() for a kind whose items are not counted keys; NULL for the others. */
	int (*each)(const struct db_batch *b, int (*f)(void *arg, const void *item), void *arg);

	/* A chunk under construction takes so many items, names and bytes of names. takes, if not
	 * NULL, decides instead of kind_builder_has_room() whether it takes an item. */
	uint32_t chunk_target, name_target, dict_target;
	bool (*takes)(const void *builder, const void *item);
	size_t builder_size;
	/* Set up (0 or -ENOMEM) and release what the kind's own part of the builder needs beyond
	 * zeroes. NULL where that is nothing. */
	int (*builder_start)(void *builder);
	void (*builder_end)(void *builder);
	/* Adds an item that the builder takes; everything is copied. 0, -ENOMEM, or 1 when the item
	 * was dropped on purpose. */
	int (*add)(void *builder, const void *item);
	/* Encodes all items into stream_count streams, which are empty and initialised. 0 or
	 * -ENOMEM. */
	int (*encode)(void *builder, struct buf *streams);
	unsigned stream_count;

	/* A reader refuses chunks of more items. */
	uint32_t chunk_max;
	/* Whether stream 0 has events, and subjects, after the images. */
	bool has_events, has_subjects;
	unsigned counts_stream; /* the stream of 4-bit counts (dict_count_get); 0: none */
	unsigned stepped;	/* a bit for each stream that is read step by step, to its end */
	size_t cursor_size;
	/* Parses the other lists; the results are in the arena and may point into the streams. NULL
	 * where there are none. 0, -EBADMSG, -ENOMEM. */
	int (*open)(void *cursor, struct arena *a);
	/* Decodes the next item, which must be greater than the one before: 1 and the item, which
	 * is valid until the next call, as may be what it points to; 0 at the end; -EBADMSG. */
	int (*next)(void *cursor, void *ret_item);
};

#define KIND(NAME, name, number) extern const struct db_kind kind_##name;
#include "db/kinds.inc"
#undef KIND

/* The table and its number of rows. */
extern const struct db_kind *const db_kinds[];
extern const size_t db_kind_count;

/* The row of a type; NULL for the head, the index, and unknown types. */
const struct db_kind *kind_of(uint32_t type);
/* Whether this version does not know the type. */
bool kind_is_unknown(uint32_t type);

/* The count of an item; and adding to an item the numbers of an equal one. Sums stop at
 * UINT64_MAX. */
uint64_t kind_count(const struct db_kind *kind, const void *item);
void kind_add(const struct db_kind *kind, void *to, const void *equal);

/* Calls f for each item of a batch in ascending order. Ends with what f returned if that is not 0;
 * -ENOMEM when out of memory. */
int kind_each(const struct db_kind *kind, const struct db_batch *b,
	      int (*f)(void *arg, const void *item), void *arg);

/* Starts a chunk; NULL when out of memory. */
void *kind_builder_new(const struct db_kind *kind);
void kind_builder_free(const struct db_kind *kind, void *builder);
/* Whether a chunk under construction takes the item as its next. */
bool kind_builder_takes(const struct db_kind *kind, const void *builder, const void *item);
/* Whether the chunk's items and names are below the kind's targets and the item is greater than the
 * last one. */
bool kind_builder_has_room(const struct db_kind *kind, const struct kind_builder *b,
			   const void *item);

/* A chunk that is being read: its cursor, and the item that was decoded last. */
struct kind_chunk {
	const struct db_kind *kind;
	void *cursor, *item;
};

/* Opens a chunk of count items from its streams; everything is allocated in a, and streams must
 * stay. 0, -EBADMSG, -ENOMEM. */
int kind_chunk_open(const struct db_kind *kind, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		    uint32_t count, struct arena *a, struct kind_chunk *ret);

/* Decodes the next item into c->item: 1, 0 at the end, -EBADMSG. */
static inline int kind_chunk_next(struct kind_chunk *c)
{
	return c->kind->next(c->cursor, c->item);
}

/* Whether any stream that is read step by step was invalid. */
static inline bool kind_cursor_failed(const struct kind_cursor *c, unsigned stream_count)
{
	int r = 0;

	for (unsigned i = 0; i < stream_count; i++)
		r |= c->at[i].error;
	return r != 0;
}

/* To be called at the end: -EBADMSG if a stream was invalid or has bytes left, else 0. */
int kind_cursor_end(const struct kind_cursor *c);

/* The count of the next item. 0 or -EBADMSG. */
static inline int kind_cursor_count(struct kind_cursor *c, unsigned counts_stream, uint64_t *ret)
{
	return dict_count_get(&c->streams[counts_stream], c->seen++, &c->at[counts_stream + 1],
			      ret);
}

#endif

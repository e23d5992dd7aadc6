/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_KIND_H
#define CULPRIT_DB_KIND_H

#include <stdbool.h>
#include "db/chunk.h"
#include "db/dict_build.h"

/* For one, and for any other number. */
struct db_noun {
	const char *one, *many;
};

/* A chunk that is read, as its kind's own structure begins: its streams, how far each is read, the
 * names that it uses. */
struct kind_cursor {
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct cursor at[CHUNK_STREAMS_MAX]; /* empty where a stream is not read in steps */
	struct dict_images images;
	struct db_event *events;
	struct db_bytes *subjects;
	uint32_t event_count, subject_count;
	uint32_t count, seen; /* items of the chunk, and of these decoded */
};

/* A chunk in the making, as its kind's own structure begins. */
struct kind_builder {
	struct dict_builder names;
	uint32_t count;	  /* items that it has */
	const void *last; /* the last of them; NULL: items rise as they come */
	struct dict_event last_event;
};

/*
 * Kinds of chunks: one table of what a database holds, one row (struct db_kind) for each.
 *
 * A kind is a set of items that are counted: rows, edges, stacks, ... An item is a C structure of
 * its own, made of what an item of the batch refers to by number; who handles items knows of them
 * only what the row says. All that a database does, it does by walking the table:
 *   write    a batch gives the items in order (make), a builder makes chunks of them (add, encode)
 *   read     a cursor over a chunk gives them back (open, next), ascending, or -EBADMSG
 *   merge    compare orders them; equal ones are one, whose sums add up
 *   check    all is decoded; the sum of the counts must be what the chunk's header says
 *   tell     what damage costs, verify's totals, and the counter of what compaction lost
 * The images that a chunk refers to stand at the start of its stream 0, whatever its kind, so that
 * blobs of theirs are kept by versions that do not know it (see orphans.c). Of a kind that
 * is unknown nothing is counted or decoded: it is passed over, checked by its sum, and carried
 * along by compaction.
 * To add a kind: kind_NAME.c with its row, a line in kinds.inc, a section in doc/FORMAT.md.
 */
struct db_kind {
	uint32_t type;	      /* in the chunk's header; below DB_KIND_TYPES */
	struct db_noun items; /* what they are called: "raw records" */
	const char *json;     /* ... in the object of verify */
	struct db_noun
		total; /* what the counts add up to: "passes"; NULL: verify does not show it */
	struct db_noun loss; /* of damage, "lost: 12 passes over 3 edges": "passes over" */
	const char *lost;    /* the counter of what compaction found damaged */
	size_t item_size;
	/* Where the numbers that add up stand in an item, uint64_t each: its count, and maybe one
	 * more (then not 0). */
	size_t count_at, more_at;
	/* Where its image (const struct image_id *) and that one's path (struct db_bytes) stand, by
	 * which the index tells what is in a chunk. */
	bool is_labelled;
	size_t image_at, path_at;
	/* Less, equal or greater than 0, by all but the numbers. */
	int (*compare)(const void *x, const void *y);
	/* A copy that outlives its chunk, to be freed; NULL: items rise within their chunks, but
	 * need not do so from one to the next. */
	void *(*keep)(const void *item);

	/* The item of a batch's key with that number, at the start of room_size bytes. */
	void (*make)(const struct db_batch *b, uint32_t key, void *ret_room);
	size_t room_size;
	/* Compares two keys' numbers, for a kind that can do without making items; else NULL. */
	int (*compare_keys)(const void *x, const void *y, void *batch);
	/* Of a kind whose items are not counted keys: see kind_each(). Else NULL. */
	int (*each)(const struct db_batch *b, int (*f)(void *arg, const void *item), void *arg);

	/* A chunk in the making takes so many items, names and bytes of names; more, or other, only
	 * if takes says so (NULL: kind_builder_has_room() does). */
	uint32_t chunk_target, name_target, dict_target;
	bool (*takes)(const void *builder, const void *item);
	size_t builder_size;
	/* What its own structure needs beside zeroes: 0 or -ENOMEM, and freeing it. Or NULL. */
	int (*builder_start)(void *builder);
	void (*builder_end)(void *builder);
	/* Adds what it takes; everything is copied. 0 or -ENOMEM; 1: the item is not to be kept. */
	int (*add)(void *builder, const void *item);
	/* Fills so many streams (of streams: empty ones, initialised). 0 or -ENOMEM. */
	int (*encode)(void *builder, struct buf *streams);
	unsigned stream_count;

	/* A reader refuses more items in a chunk. */
	uint32_t chunk_max;
	/* What stream 0 has after images: events, and subjects. */
	bool has_events, has_subjects;
	unsigned counts_stream; /* 4 bits an item (see dict_count_get); 0: it has none */
	unsigned stepped;	/* a bit for each stream that is read in steps, to its end */
	size_t cursor_size;
	/* Parses the other lists; all is from the arena and may point into the streams. NULL: there
	 * are none. 0, -EBADMSG, -ENOMEM. */
	int (*open)(void *cursor, struct arena *a);
	/* 1 and the item, greater than the one before and valid until the next call (what it points
	 * to may be so too); 0 at the end; -EBADMSG. */
	int (*next)(void *cursor, void *ret_item);
};

#define KIND(NAME, name, number) extern const struct db_kind kind_##name;
#include "db/kinds.inc"
#undef KIND

/* The table, and how many it has. */
extern const struct db_kind *const db_kinds[];
extern const size_t db_kind_count;

/* The row of a type, NULL: the head's, the index's, or not known. */
const struct db_kind *kind_of(uint32_t type);
/* Whether this version does not know the type. */
bool kind_is_unknown(uint32_t type);

/* An item's count, and adding what another of equal key counts; sums stop at the largest. */
uint64_t kind_count(const struct db_kind *kind, const void *item);
void kind_add(const struct db_kind *kind, void *to, const void *equal);

/* Calls f for each item of a batch, ascending; returns what f returned if not 0, or -ENOMEM. */
int kind_each(const struct db_kind *kind, const struct db_batch *b,
	      int (*f)(void *arg, const void *item), void *arg);

/* The next chunk in the making; NULL: no memory. */
void *kind_builder_new(const struct db_kind *kind);
void kind_builder_free(const struct db_kind *kind, void *builder);
/* Whether it takes the item, which comes behind the one before. */
bool kind_builder_takes(const struct db_kind *kind, const void *builder, const void *item);
/* Whether neither items nor names are too many, and the item is greater than the last. */
bool kind_builder_has_room(const struct db_kind *kind, const struct kind_builder *b,
			   const void *item);

/* A chunk that is read: its cursor, and the item where that is. */
struct kind_chunk {
	const struct db_kind *kind;
	void *cursor, *item;
};

/* Opens the streams of a chunk of a kind, as its row says. */
int kind_chunk_open(const struct db_kind *kind, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		    uint32_t count, struct arena *a, struct kind_chunk *ret);

/* 1 and the next item in c->item, 0 at the end, -EBADMSG. */
static inline int kind_chunk_next(struct kind_chunk *c)
{
	return c->kind->next(c->cursor, c->item);
}

/* Whether a stream that is read in steps was invalid. */
static inline bool kind_cursor_failed(const struct kind_cursor *c, unsigned stream_count)
{
	int r = 0;

	for (unsigned i = 0; i < stream_count; i++)
		r |= c->at[i].error;
	return r != 0;
}

/* At the end nothing may be left over. 0 or -EBADMSG. */
int kind_cursor_end(const struct kind_cursor *c);

/* The count of the next item. 0 or -EBADMSG. */
static inline int kind_cursor_count(struct kind_cursor *c, unsigned counts_stream, uint64_t *ret)
{
	return dict_count_get(&c->streams[counts_stream], c->seen++, &c->at[counts_stream + 1],
			      ret);
}

#endif

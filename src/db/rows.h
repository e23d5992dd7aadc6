/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_ROWS_H
#define CULPRIT_DB_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include "db/chunk.h"
#include "util/arena.h"

/*
 * The payload of a rows chunk. Rows stand by (image, event, offset, subject): an offset that many
 * subjects share, as in the kernel or libc, is so written once, which on a mixed load takes less
 * than one list of offsets for each subject.
 */
enum rows_stream {
	ROWS_DICT,	   /* images, events, subjects that the chunk uses */
	ROWS_GROUPS,	   /* (image, event): rows, subjects, the most frequent first */
	ROWS_DELTAS,	   /* distance of each distinct offset from the one before */
	ROWS_SHARERS,	   /* subjects at the offset, less one: 2 bits, 3 for 3 or more */
	ROWS_SHARERS_MORE, /* ... and these less 3 */
	ROWS_FIRST,	   /* of these subjects the most frequent, by its rank in the group */
	ROWS_NEXT,	   /* ... and each other's distance from the one before, less one */
	ROWS_COUNTS,	   /* less one: 4 bits, 15 for 15 or more */
	ROWS_COUNTS_MORE,  /* ... and these less 15 */
	ROWS_STREAMS,
};

#define ROWS_SHARERS_ESCAPE 3
#define ROWS_COUNT_ESCAPE   15

#define ROWS_CHUNK_TARGET 32768u     /* a writer closes a chunk at so many rows */
#define ROWS_CHUNK_MAX	  (1u << 20) /* a reader refuses more */
#define ROWS_DICT_TARGET  (1u << 20) /* ... or so many bytes of names */

struct rows_builder;

struct rows_builder *rows_builder_new(void);
void rows_builder_free(struct rows_builder *b);
/* Adds a row, greater than the one before. Everything is copied. 0 or -ENOMEM. */
int rows_builder_add(struct rows_builder *b, const struct db_row *row);
bool rows_builder_full(const struct rows_builder *b);
uint32_t rows_builder_count(const struct rows_builder *b);
/* Appends the chunk to out and empties the builder. */
int rows_builder_finish(struct rows_builder *b, int zstd_level, struct buf *out,
			struct chunk_header *ret);

struct rows_group {
	uint32_t image, event, row_count, subject_count;
	const uint32_t *subjects; /* numbers in the chunk's dictionary */
};

/* One subject at an offset: its number in the group's list and in the dictionary. */
struct rows_sharer {
	uint32_t rank, subject;
	uint64_t count;
};

struct rows_chunk {
	struct image_id *images;
	struct db_bytes *paths; /* of images */
	struct db_event *events;
	struct db_bytes *subjects;
	struct rows_group *groups;
	uint32_t image_count, event_count, subject_count, group_count, row_count;
	struct db_bytes streams[ROWS_STREAMS];
	struct rows_sharer *sharers; /* room for those of one offset, for the cursor */
};

/*
 * Parses what is not rows. Arrays are from the arena, bytes point into the streams. 0, -EBADMSG,
 * -ENOMEM.
 */
int rows_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		    struct arena *a, struct rows_chunk *ret);

/* Steps through the rows of a chunk without storing them; one at a time for a chunk. */
struct rows_cursor {
	const struct rows_chunk *chunk;
	struct cursor deltas, sharers_more, first, next, counts_more;
	uint32_t rows_seen, offsets_seen; /* where in the packed streams */
	uint32_t group, left;		  /* groups begun; rows left in the current one */
	uint32_t sharer, sharer_count;	  /* of the current offset */
	uint64_t offset;
};

void rows_cursor_start(struct rows_cursor *c, const struct rows_chunk *chunk);
/* 1 and the row, 0 at the end, -EBADMSG. */
int rows_cursor_next(struct rows_cursor *c, struct db_row *ret);
/*
 * The rows of the next group whole, in arrays with room for the chunk's row_count; subjects are
 * numbers in the group's list. 1, 0 at the end, -EBADMSG.
 */
int rows_cursor_next_group(struct rows_cursor *c, const struct rows_group **ret_group,
			   uint64_t *offsets, uint64_t *counts, uint32_t *subjects);

#endif

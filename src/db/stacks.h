/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_STACKS_H
#define CULPRIT_DB_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "db/chunk.h"
#include "db/dict.h"

/*
 * The payload of a stacks chunk. Stacks stand by (event, subject, frames from the outermost in), so
 * that each is what it has in common with the one before and a few frames more: the calling context
 * tree in preorder.
 */
enum stacks_stream {
	STACKS_DICT,	    /* images by rising id, events, subjects that the chunk uses */
	STACKS_GROUPS,	    /* (event, subject): stacks */
	STACKS_FRAMES,	    /* distinct frames: for each image their number, then rising offsets */
	STACKS_SHARED,	    /* frames in common with the stack before; the first of a group: 0 */
	STACKS_FRESH,	    /* further frames, less one */
	STACKS_STEPS,	    /* ... in forms of before: see below */
	STACKS_COUNTS,	    /* less one: 4 bits, 15 for 15 or more */
	STACKS_COUNTS_MORE, /* ... and these less 15 */
	STACKS_FIRSTS, /* of the first that takes another's place, how much greater, less one */
	STACKS_CALLS,  /* of one whose caller called nobody yet, from its caller's number */
	STACKS_AGAIN,  /* of any other, from the one that its caller began with last */
	STACKS_STREAMS,
};

#define STACKS_COUNT_ESCAPE 15

/*
 * Whom a frame calls is mostly near to whom it called before, else near to itself: both are zigzags
 * of the distance of numbers. Two forms of before are still read. Without STACKS_CALLS both are in
 * STACKS_STEPS, the first call of a frame as it is, and "before" is the last of all it called;
 * without STACKS_FIRSTS all frames have their numbers there.
 */
#define STACKS_NOBODY UINT32_MAX

#define STACKS_CHUNK_TARGET 16384u     /* a writer closes a chunk at so many stacks */
#define STACKS_STEPS_TARGET (1u << 19) /* ... or so many fresh frames */
#define STACKS_CHUNK_MAX    (1u << 20) /* a reader refuses more */
#define STACKS_DICT_TARGET  (1u << 20) /* ... or so many bytes of names */

struct stacks_builder;

struct stacks_builder *stacks_builder_new(void);
void stacks_builder_free(struct stacks_builder *b);
/* Whether it has room for this stack and it is greater than the one before. */
bool stacks_builder_takes(const struct stacks_builder *b, const struct db_stack_item *s);
/* Adds what it takes. Everything is copied. 0 or -ENOMEM. */
int stacks_builder_add(struct stacks_builder *b, const struct db_stack_item *s);
uint32_t stacks_builder_count(const struct stacks_builder *b);
/* Appends the chunk to out and empties the builder. */
int stacks_builder_finish(struct stacks_builder *b, int zstd_level, struct buf *out,
			  struct chunk_header *ret);

struct stacks_group {
	uint32_t event, subject, row_count;
};

struct stacks_chunk {
	struct dict_images images;
	struct db_event *events;
	struct db_bytes *subjects;
	struct db_frame_item *frames; /* the distinct ones */
	struct stacks_group *groups;
	/* Of each frame the one that it called before, the threads' starts' first; of its cursor.
	 */
	uint32_t *callees;
	uint32_t event_count, subject_count, frame_count, group_count, row_count;
	struct db_bytes streams[STACKS_STREAMS];
};

/*
 * Parses what is not stacks. Arrays are from the arena, bytes point into the streams. 0, -EBADMSG,
 * -ENOMEM.
 */
int stacks_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		      struct arena *a, struct stacks_chunk *ret);

/* Steps through the stacks of a chunk, one cursor at a time. */
struct stacks_cursor {
	const struct stacks_chunk *chunk;
	struct cursor shared, fresh, steps, counts_more, firsts, calls, again;
	uint32_t stacks_seen, group, left; /* groups begun; stacks left in the current one */
	uint32_t depth;
	struct db_frame_item frames[DB_STACK_MAX]; /* of the current stack */
	uint32_t numbers[DB_STACK_MAX];
};

void stacks_cursor_start(struct stacks_cursor *c, const struct stacks_chunk *chunk);
/* 1 and the stack, greater than the one before, its frames valid until the next call; 0 at the end;
 * -EBADMSG. */
int stacks_cursor_next(struct stacks_cursor *c, struct db_stack_item *ret);

#endif

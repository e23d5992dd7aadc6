/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_RAWS_H
#define CULPRIT_DB_RAWS_H

#include <stdbool.h>
#include <stdint.h>
#include "db/chunk.h"
#include "db/dict.h"

/*
 * The payload of a chunk of raw records. They stand by (image, event, form, offset, subject,
 * target, values), so that those of one instruction are together. Of each register all values stand
 * in one stream, byte by byte: first the lowest byte of each value, then the next of each. Most
 * of these bytes are a flag or zero, and what is left - latencies, the ends of addresses - has no
 * order that could be made use of.
 */
enum raws_stream {
	RAWS_DICT,	    /* images, events, subjects that the chunk uses */
	RAWS_GROUPS,	    /* (image, event, form): records */
	RAWS_OFFSETS,	    /* less that of the record before */
	RAWS_SUBJECTS,	    /* numbers in the dictionary */
	RAWS_TARGET_IMAGES, /* 0 none, 1 the group's, else the number in the dictionary plus 2 */
	RAWS_TARGETS,	    /* in the group's image from the offset, as zigzag; else as it is */
	RAWS_COUNTS,	    /* less one: 4 bits, 15 for 15 or more */
	RAWS_COUNTS_MORE,   /* ... and these less 15 */
	RAWS_VALUES, /* the first register of each record; then as many streams as it takes */
	RAWS_STREAMS = RAWS_VALUES + DB_RAW_VALUES_MAX,
};
_Static_assert(RAWS_STREAMS <= CHUNK_STREAMS_MAX, "streams of a chunk");

#define RAWS_COUNT_ESCAPE 15

#define RAWS_CHUNK_TARGET 16384u     /* a writer closes a chunk at so many records */
#define RAWS_CHUNK_MAX	  (1u << 20) /* a reader refuses more */
#define RAWS_DICT_TARGET  (1u << 20) /* ... or so many bytes of names */

struct raws_builder;

struct raws_builder *raws_builder_new(void);
void raws_builder_free(struct raws_builder *b);
/* Whether it has room for this record and it is greater than the one before. */
bool raws_builder_takes(const struct raws_builder *b, const struct db_raw_item *r);
/* Adds what it takes. Everything is copied. 0 or -ENOMEM. */
int raws_builder_add(struct raws_builder *b, const struct db_raw_item *r);
uint32_t raws_builder_count(const struct raws_builder *b);
/* Appends the chunk to out and empties the builder. */
int raws_builder_finish(struct raws_builder *b, int zstd_level, struct buf *out,
			struct chunk_header *ret);

struct raws_group {
	uint32_t image, event, row_count, value_count;
	struct db_raw_form form;
};

struct raws_chunk {
	struct dict_images images;
	struct db_event *events;
	struct db_bytes *subjects;
	struct raws_group *groups;
	uint32_t event_count, subject_count, group_count, row_count;
	uint32_t value_counts[DB_RAW_VALUES_MAX]; /* in each stream of values */
	struct db_bytes streams[RAWS_STREAMS];
};

/*
 * Parses what is not records. Arrays are from the arena, bytes point into the streams. 0, -EBADMSG,
 * -ENOMEM.
 */
int raws_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		    struct arena *a, struct raws_chunk *ret);

/* Steps through the records of a chunk. */
struct raws_cursor {
	const struct raws_chunk *chunk;
	struct cursor offsets, subjects, target_images, targets, counts_more;
	uint32_t rows_seen, group, left; /* groups begun; records left in the current one */
	uint32_t values_seen[DB_RAW_VALUES_MAX];
	struct db_raw_item last;
};

void raws_cursor_start(struct raws_cursor *c, const struct raws_chunk *chunk);
/* 1 and the record, greater than the one before; 0 at the end; -EBADMSG. */
int raws_cursor_next(struct raws_cursor *c, struct db_raw_item *ret);

#endif

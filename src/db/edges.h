/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_EDGES_H
#define CULPRIT_DB_EDGES_H

#include <stdbool.h>
#include <stdint.h>
#include "db/chunk.h"
#include "db/dict.h"

/*
 * The payload of an edges chunk. Edges stand by (image, event, from, image of to, to), so that the
 * outcomes of one branch are together, and a target is a short way from its branch or from the
 * target before.
 */
enum edges_stream {
	EDGES_DICT,	   /* images, events that the chunk uses */
	EDGES_GROUPS,	   /* (image, event): edges, the images that they go to */
	EDGES_FROM,	   /* distance of each distinct from to the one before */
	EDGES_FANOUT,	   /* edges of this from, less one: 2 bits, 3 for 3 or more */
	EDGES_FANOUT_MORE, /* ... and these less 3 */
	EDGES_IMAGES,	   /* in groups of several: place of to's image, less the one before */
	EDGES_TO,	   /* see edges_to_code */
	EDGES_COUNTS,	   /* less one: 4 bits, 15 for 15 or more */
	EDGES_COUNTS_MORE, /* ... and these less 15 */
	EDGES_REPEATS,	   /* of each count of 2 and more: that less the windows */
	EDGES_STREAMS,
};

#define EDGES_FANOUT_ESCAPE 3
#define EDGES_COUNT_ESCAPE  15

#define EDGES_CHUNK_TARGET 32768u     /* a writer closes a chunk at so many edges */
#define EDGES_CHUNK_MAX	   (1u << 20) /* a reader refuses more */
#define EDGES_DICT_TARGET  (1u << 20) /* ... or so many bytes of names */

/*
 * How the first target in its own image is written: its distance from base (the branch), signed,
 * as zigzag, but with the codes of "the branch itself" and DB_EDGE_END exchanged, so that the
 * latter, far more frequent, is 0. For further ones in that image it is the distance from the one
 * before, 0 again for DB_EDGE_END. In another image the first is written as it is.
 */
uint64_t edges_to_code(uint64_t base, uint64_t to);
uint64_t edges_to_decode(uint64_t base, uint64_t code);

struct edges_builder;

struct edges_builder *edges_builder_new(void);
void edges_builder_free(struct edges_builder *b);
/* Whether it has room for this edge and it is greater than the one before. */
bool edges_builder_takes(const struct edges_builder *b, const struct db_edge_item *e);
/* Adds what it takes. Everything is copied. 0 or -ENOMEM. */
int edges_builder_add(struct edges_builder *b, const struct db_edge_item *e);
uint32_t edges_builder_count(const struct edges_builder *b);
/* Appends the chunk to out and empties the builder. */
int edges_builder_finish(struct edges_builder *b, int zstd_level, struct buf *out,
			 struct chunk_header *ret);

struct edges_group {
	uint32_t image, event, row_count, target_count;
	const uint32_t *targets; /* numbers of images in the chunk's dictionary, by rising id */
};

struct edges_chunk {
	struct dict_images images;
	struct db_event *events;
	struct edges_group *groups;
	uint32_t event_count, group_count, row_count;
	struct db_bytes streams[EDGES_STREAMS];
};

/*
 * Parses what is not edges. Arrays are from the arena, bytes point into the streams. 0, -EBADMSG,
 * -ENOMEM.
 */
int edges_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		     struct arena *a, struct edges_chunk *ret);

/* Steps through the edges of a chunk. */
struct edges_cursor {
	const struct edges_chunk *chunk;
	struct cursor from_deltas, fanout_more, images, to_codes, counts_more, repeats;
	uint32_t edges_seen, froms_seen; /* where in the packed streams */
	uint32_t group, left;		 /* groups begun; edges left in the current one */
	uint32_t fanout_left, target;	 /* of the current from; place of the last to's image */
	bool is_first;			 /* the next edge is the first of its from */
	uint64_t from, to;
};

void edges_cursor_start(struct edges_cursor *c, const struct edges_chunk *chunk);
/* 1 and the edge, greater than the one before; 0 at the end; -EBADMSG. */
int edges_cursor_next(struct edges_cursor *c, struct db_edge_item *ret);

#endif

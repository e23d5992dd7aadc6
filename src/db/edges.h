/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_EDGES_H
#define CULPRIT_DB_EDGES_H

#include "db/chunk.h"

/*
 * The payload of an edges chunk. Edges are ordered by (image, event, evidence, from, image of to,
 * to), so that the outcomes of one branch are together, and a target is a short way from its branch
 * or from the target before.
 */
enum edges_stream {
	EDGES_DICT,	   /* images, events that the chunk uses */
	EDGES_GROUPS,	   /* (image, event, evidence): edges, the images that they go to */
	EDGES_FROM,	   /* distance of each distinct from to the one before */
	EDGES_FANOUT,	   /* edges of this from, minus one: 2 bits, 3 for 3 or more */
	EDGES_FANOUT_MORE, /* ... and these minus 3 */
	EDGES_IMAGES,	   /* in groups of several: position of to's image, minus the one before */
	EDGES_TO,	   /* see edges_to_code */
	EDGES_COUNTS,	   /* minus one: 4 bits, 15 for 15 or more */
	EDGES_COUNTS_MORE, /* ... and these minus 15 */
	EDGES_REPEATS,	   /* of each count of 2 or more: that minus the windows */
	EDGES_STREAMS,
};

#define EDGES_FANOUT_ESCAPE 3

#define EDGES_CHUNK_TARGET 32768u     /* a writer closes a chunk at this many edges */
#define EDGES_CHUNK_MAX	   (1u << 20) /* a reader refuses more */
#define EDGES_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

/*
 * How the first target in its own image is written: its distance from base (the branch), signed,
 * as zigzag, but with the codes of "the branch itself" and DB_EDGE_END exchanged, so that the
 * latter, far more frequent, is 0. For further ones in that image it is the distance from the one
 * before, 0 again for DB_EDGE_END. In another image the first is written as it is.
 */
uint64_t edges_to_code(uint64_t base, uint64_t to);
uint64_t edges_to_decode(uint64_t base, uint64_t code);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_EDGES_H
#define CULPRIT_DB_EDGES_H

#include "db/chunk.h"

/*
 * The payload of an edges chunk. Edges are ordered by (image, event, evidence, from, image of to,
 * to), so that the outcomes of one branch are together, and a target is close to its branch or to
 * the target before it.
 */
enum edges_stream {
	EDGES_DICT,	   /* images and events used by the chunk */
	EDGES_GROUPS,	   /* (image, event, evidence): number of edges, images of their targets */
	EDGES_FROM,	   /* distance of each distinct from to the one before it */
	EDGES_FANOUT,	   /* edges of this from, minus 1: 2 bits, 3 for 3 or more */
	EDGES_FANOUT_MORE, /* ... and these minus 3 */
	EDGES_IMAGES,	   /* in groups of several: position of to's image, minus the one before */
	EDGES_TO,	   /* see edges_to_code */
	EDGES_COUNTS,	   /* minus one: 4 bits, 15 for 15 or more */
	EDGES_COUNTS_MORE, /* ... and these minus 15 */
	EDGES_REPEATS,	   /* for each count of 2 or more: the count minus its windows */
	EDGES_STREAMS,
};

#define EDGES_FANOUT_ESCAPE 3

#define EDGES_CHUNK_TARGET 32768u     /* a writer closes a chunk at this many edges */
#define EDGES_CHUNK_MAX	   (1u << 20) /* a reader refuses more */
#define EDGES_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

/*
 * How the first target of a branch is written when it is in the same image: its signed distance
 * from base (the branch) in zigzag code, but with the codes of "the branch itself" and DB_EDGE_END
 * exchanged, so that the latter, which is far more frequent, is 0. Further targets in that image
 * are the distance from the one before, again with 0 for DB_EDGE_END. In another image, the first
 * target is written unchanged.
 */
uint64_t edges_to_code(uint64_t base, uint64_t to);
uint64_t edges_to_decode(uint64_t base, uint64_t code);

#endif

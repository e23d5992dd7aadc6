/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_STACKS_H
#define CULPRIT_DB_STACKS_H

#include "db/chunk.h"

/*
 * The payload of a stacks chunk. Stacks are ordered by (event, subject, frames from the outermost
 * in), so that each is what it has in common with the one before and a few frames more: the calling
 * context tree in preorder.
 */
enum stacks_stream {
	STACKS_DICT,   /* images by ascending id, events, subjects that the chunk uses */
	STACKS_GROUPS, /* (event, subject): stacks */
	STACKS_FRAMES, /* distinct frames: for each image their number, then ascending offsets */
	STACKS_SHARED, /* frames in common with the stack before; the first of a group: 0 */
	STACKS_FRESH,  /* further frames, minus one */
	STACKS_UNUSED,
	STACKS_COUNTS,	    /* minus one: 4 bits, 15 for 15 or more */
	STACKS_COUNTS_MORE, /* ... and these minus 15 */
	STACKS_FIRSTS, /* of the first that takes another's place, how much greater, minus one */
	STACKS_CALLS,  /* of one whose caller called nobody yet, from its caller's number */
	STACKS_AGAIN,  /* of any other, from the one that its caller began with last */
	STACKS_STREAMS,
};

/*
 * Whom a frame calls is mostly near to whom it called before, else near to itself: both are zigzags
 * of the distance of numbers. That is what STACKS_NOBODY, before the first, stands in for.
 */
#define STACKS_NOBODY UINT32_MAX

#define STACKS_CHUNK_TARGET 16384u     /* a writer closes a chunk at this many stacks */
#define STACKS_STEPS_TARGET (1u << 19) /* ... or this many fresh frames */
#define STACKS_CHUNK_MAX    (1u << 20) /* a reader refuses more */
#define STACKS_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

#endif

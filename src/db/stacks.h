/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_STACKS_H
#define CULPRIT_DB_STACKS_H

#include "db/chunk.h"

/*
 * The payload of a stacks chunk. Stacks are ordered by (event, subject, frames from the outermost
 * on), so that each consists of what it shares with the one before and a few further frames: the
 * calling context tree (Ammons, Ball and Larus, PLDI 1997) in preorder.
 */
enum stacks_stream {
	STACKS_DICT,   /* images by ascending id, events and subjects used by the chunk */
	STACKS_GROUPS, /* (event, subject): number of stacks */
	STACKS_FRAMES, /* the distinct frames: for each image their count, then ascending offsets */
	STACKS_SHARED, /* frames shared with the stack before; 0 for the first of a group */
	STACKS_FRESH,  /* further frames, minus one */
	STACKS_UNUSED,
	STACKS_COUNTS,	    /* minus one: 4 bits, 15 for 15 or more */
	STACKS_COUNTS_MORE, /* ... and these minus 15 */
	STACKS_FIRSTS,	    /* see below: replaced frames */
	STACKS_CALLS,	    /* first callees */
	STACKS_AGAIN,	    /* other callees */
	STACKS_STREAMS,
};

/*
 * A further frame is written as its number among the distinct frames, relative to another one.
 * STACKS_FIRSTS: if it takes the place of a frame of the stack before, how much greater it is than
 * that one, minus 1. Otherwise it is mostly near the last frame that was written so for its caller
 * (STACKS_AGAIN) or, if there was none yet (STACKS_NOBODY), near the caller itself (STACKS_CALLS):
 * both are zigzag codes of the difference.
 */
#define STACKS_NOBODY UINT32_MAX

#define STACKS_CHUNK_TARGET 16384u     /* a writer closes a chunk at this many stacks */
#define STACKS_STEPS_TARGET (1u << 19) /* ... or this many fresh frames */
#define STACKS_CHUNK_MAX    (1u << 20) /* a reader refuses more */
#define STACKS_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_RAWS_H
#define CULPRIT_DB_RAWS_H

#include "db/chunk.h"

/*
 * The payload of a chunk of raw records. They are ordered by (image, event, form, offset, subject,
 * target, values), so that those of one instruction are together. The values of a register form one
 * stream, transposed: the lowest byte of every value, then the next byte of every value, and so on.
 * Most of these bytes are a flag or zero, and the rest (latencies, low bits of addresses) has no
 * order that compression could use.
 */
enum raws_stream {
	RAWS_DICT,	    /* images, events and subjects used by the chunk */
	RAWS_GROUPS,	    /* (image, event, form): number of records */
	RAWS_OFFSETS,	    /* minus that of the record before */
	RAWS_SUBJECTS,	    /* numbers in the dictionary */
	RAWS_TARGET_IMAGES, /* 0 none, 1 the group's, else 2 + number in the dictionary */
	RAWS_TARGETS,	    /* in the group's image: minus the offset, zigzag; else unchanged */
	RAWS_COUNTS,	    /* minus one: 4 bits, 15 for 15 or more */
	RAWS_COUNTS_MORE,   /* ... and these minus 15 */
	RAWS_VALUES, /* of the first register of each record; one stream for each further one */
	RAWS_STREAMS = RAWS_VALUES + DB_RAW_VALUES_MAX,
};
_Static_assert(RAWS_STREAMS <= CHUNK_STREAMS_MAX, "streams of a chunk");

#define RAWS_CHUNK_TARGET 16384u     /* a writer closes a chunk at this many records */
#define RAWS_CHUNK_MAX	  (1u << 20) /* a reader refuses more */
#define RAWS_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

#endif

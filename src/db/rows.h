/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_ROWS_H
#define CULPRIT_DB_ROWS_H

#include "db/kind.h"

/*
 * The payload of a rows chunk. Rows are ordered by (image, event, offset, subject), so that an
 * offset that many subjects share, as in the kernel or libc, is written once. On a mixed load that
 * takes less than a list of offsets for each subject.
 */
enum rows_stream {
	ROWS_DICT,	   /* images, events and subjects used by the chunk */
	ROWS_GROUPS,	   /* (image, event): number of rows; subjects, the most frequent first */
	ROWS_DELTAS,	   /* distance of each distinct offset from the one before it */
	ROWS_SHARERS,	   /* subjects at the offset, minus one: 2 bits, 3 for 3 or more */
	ROWS_SHARERS_MORE, /* ... and these minus 3 */
	ROWS_FIRST,	   /* rank in the group of the most frequent of these subjects */
	ROWS_NEXT,	   /* ... and of each other, minus the rank before, minus one */
	ROWS_COUNTS,	   /* minus one: 4 bits, 15 for 15 or more */
	ROWS_COUNTS_MORE,  /* ... and these minus 15 */
	ROWS_STREAMS,
};

#define ROWS_SHARERS_ESCAPE 3

#define ROWS_CHUNK_TARGET 32768u     /* a writer closes a chunk at this many rows */
#define ROWS_CHUNK_MAX	  (1u << 20) /* a reader refuses more */
#define ROWS_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

struct rows_group {
	uint32_t image, event, row_count, subject_count;
	const uint32_t *subjects; /* as numbers in the chunk's dictionary */
};

/* One subject at an offset: its rank in the group's list and its number in the dictionary. */
struct rows_sharer {
	uint32_t rank, subject;
	uint64_t count;
};

/* Steps through the rows of a chunk without storing them. */
struct rows_cursor {
	struct kind_cursor head;
	struct rows_group *groups;
	uint32_t group_count, group, left; /* all; begun; rows left */
	uint32_t offsets_seen;		   /* index in the packed stream of sharers */
	struct rows_sharer *sharers;	   /* of the current offset */
	uint32_t sharer, sharer_count;
	uint64_t offset;
};

/*
 * Decodes all rows of the next group into arrays with room for the chunk's count of rows. subjects
 * are given as ranks in the group's list. 1, 0 at the end, -EBADMSG.
 */
int rows_cursor_next_group(struct rows_cursor *c, const struct rows_group **ret_group,
			   uint64_t *offsets, uint64_t *counts, uint32_t *subjects);

#endif

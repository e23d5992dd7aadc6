/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_VALUES_H
#define CULPRIT_DB_VALUES_H

#include "db/key.h"
#include "values/summary.h"

/*
 * Values that instructions had: for each place and kind (enum value_kind) a summary of fixed size.
 * Equal places are one, whose summaries are merged.
 */
#define DB_VALUE_NO_SITE UINT32_MAX

struct db_value {
	uint32_t image;	     /* a number that this batch gave */
	uint32_t site_image; /* the same, of the call that led here; or DB_VALUE_NO_SITE */
	uint64_t offset;     /* of the instruction; of arguments: of the function's entry */
	uint64_t site;
	enum value_kind kind;
};

/* Adds a value. room as in value_hotlist_init, for a place that is new. 0, or, with nothing added:
 * -ENOSPC, -ENOMEM, -EINVAL. */
int db_batch_value(struct db_batch *b, const struct db_value *place, uint32_t room,
		   const struct value_sample *sample, bool with_content);
/* Adds all of a summary; its room is that of a place that is new, and must not be larger than that
 * of one that is there (-EINVAL). */
int db_batch_value_summary(struct db_batch *b, const struct db_value *place,
			   const struct value_summary *summary);
size_t db_batch_values(const struct db_batch *b); /* places; at most max_rows / 16 + 1 */

struct db_value_item {
	const struct image_id *image, *site_image; /* site_image NULL: no call is told */
	struct db_bytes path, site_path;
	uint64_t offset, site;
	enum value_kind kind;
	uint64_t count; /* samples */
	union value_summary_room of;
};

/* By (image, offset, kind, call); those without a call first. */
int db_value_compare(const struct db_value_item *a, const struct db_value_item *b);

/* The payload of a chunk. */
enum values_stream {
	VALUES_DICT,	    /* images */
	VALUES_GROUPS,	    /* image: number of items */
	VALUES_OFFSETS,	    /* minus that of the item before in the group */
	VALUES_KINDS_OF,    /* enum value_kind */
	VALUES_SITE_IMAGES, /* 0 no call, 1 the group's, else 2 + number in the dictionary */
	VALUES_SITES,	    /* in the group's image: minus the offset, zigzag; else unchanged */
	VALUES_FACTS,	    /* see facts_encode */
	VALUES_SHAPES,	    /* samples without content; of hotlists: room and threshold, entries */
	VALUES_SPANS,	    /* of hotlists: least and greatest, against the first and last entry */
	VALUES_HOT,	    /* of entries: the value, minus the one before */
	VALUES_HOT_COUNTS,  /* minus the threshold */
	VALUES_COUNTS,	    /* minus one: 4 bits, 15 for 15 or more */
	VALUES_COUNTS_MORE,
	VALUES_STREAMS,
};

/* A writer closes a chunk at this many items, bytes of streams, or bytes of names. */
#define VALUES_CHUNK_TARGET 16384u
#define VALUES_CHUNK_BYTES  (3u << 20)
#define VALUES_DICT_TARGET  (1u << 20)
#define VALUES_CHUNK_MAX    (1u << 18) /* a reader refuses more */

#endif

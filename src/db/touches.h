/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_TOUCHES_H
#define CULPRIT_DB_TOUCHES_H

#include "db/key.h"

/*
 * Touches: which lines of memory a load read, for an estimate of how many there are. A place is
 * never an address: 32 bits of a keyed hash of the page, and which of the page's 64 lines.
 *
 * Of each load only the least DB_TOUCHES_MAX places are kept, whenever a pack is written. The pages
 * of these are a fair sample of all its pages (the least hashes), with all their lines except for
 * the last page's; and what two samples of this kind have together, cut again, is one too: sums of
 * batches, epochs and machines are right without more.
 */
#define DB_TOUCHES_MAX	    256
#define DB_TOUCH_PAGE_LINES 64

struct db_touch_item {
	const struct image_id *image;
	struct db_bytes path;
	uint64_t load, place; /* the load's offset in the image */
	uint64_t count;	      /* windows in which it read it */
};

/* Adds count windows in which a load touched a place. 0, -ENOSPC or -ENOMEM (then nothing was
 * added), -EINVAL. */
int db_batch_touch(struct db_batch *b, uint32_t image, uint64_t load, uint64_t place,
		   uint64_t count);

/* The place of a line (address / 64) in a page with that hash. */
static inline uint64_t db_touch_place(uint64_t page_hash, uint64_t line)
{
	return (page_hash >> 32) * DB_TOUCH_PAGE_LINES + line % DB_TOUCH_PAGE_LINES;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_TOUCHES_H
#define CULPRIT_DB_TOUCHES_H

#include "db/key.h"

/*
 * Touches: the cache lines that a load instruction read, for an estimate of how many there are. A
 * place is not an address: it consists of 32 bits of a keyed hash of the page, and the number of
 * one of the page's 64 lines.
 *
 * Of each load only the DB_TOUCHES_MAX least places are kept when a pack is written. Their pages
 * are an unbiased sample of all the load's pages (those of the least hashes), with all their lines
 * but for the last page. The union of two such samples, cut to that size again, is such a sample
 * too: so batches, epochs and machines can be added up.
 */
#define DB_TOUCHES_MAX	    256
#define DB_TOUCH_PAGE_LINES 64

struct db_touch_item {
	const struct image_id *image;
	struct db_bytes path;
	uint64_t load, place; /* the load's offset in the image */
	uint64_t count;	      /* windows in which the load read the place */
};

/* Adds count windows in which a load touched a place. 0, or, with nothing added: -ENOSPC, -ENOMEM,
 * -EINVAL. */
int db_batch_touch(struct db_batch *b, uint32_t image, uint64_t load, uint64_t place,
		   uint64_t count);

/* The place of a line (address / 64) in a page of that hash. */
static inline uint64_t db_touch_place(uint64_t page_hash, uint64_t line)
{
	return (page_hash >> 32) * DB_TOUCH_PAGE_LINES + line % DB_TOUCH_PAGE_LINES;
}

#endif

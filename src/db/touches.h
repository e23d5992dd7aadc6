/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_TOUCHES_H
#define CULPRIT_DB_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "db/batch.h"

/*
 * Touches: which lines of memory a load read, for an estimate of how many there are. They stand
 * among the edges, with an event of their own: from is the load, to the place that it read (never
 * an address: 32 bits of a keyed hash of the page, and which of the page's 64 lines), the image of
 * to the load's own, count the windows in which it read it.
 *
 * Of each load only the least DB_TOUCHES_MAX places are kept, whenever a pack is written. The pages
 * of these are a fair sample of all its pages (the least hashes), with all their lines but for the
 * last page's; and what two samples of this kind have together, cut again, is one too: sums of
 * batches, epochs and machines are right without more.
 */
#define DB_TOUCH_EVENT	    "touches"
#define DB_TOUCHES_MAX	    256
#define DB_TOUCH_PAGE_LINES 64

static inline bool db_event_is_touches(const struct db_event *e)
{
	return strcmp(e->name, DB_TOUCH_EVENT) == 0;
}

/* The place of a line (address / 64) in a page with that hash. */
static inline uint64_t db_touch_place(uint64_t page_hash, uint64_t line)
{
	return (page_hash >> 32) * DB_TOUCH_PAGE_LINES + line % DB_TOUCH_PAGE_LINES;
}

#endif

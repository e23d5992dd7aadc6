/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_LISTING_STATE_H
#define CULPRIT_ANALYZE_LISTING_STATE_H

#include "analyze/listing.h"
#include "analyze/source.h"
#include "util/arena.h"

/* What is behind struct listing; for the listing*.c files only. */

#define LISTING_NOTES_MAX 16
#define LISTING_TEXT_MAX  (256u << 20)

/* An instruction, or without code an address that has samples. */
struct listing_item {
	uint64_t address;
	const char *text; /* NULL: not known */
	uint64_t *counts;
	struct image_frame frame; /* where it was written; strings owned by lines */
	bool inlined;
};

struct listing {
	struct arena *arena;
	struct listing_item *items;
	size_t item_count, item_room;
	struct listing_row *rows;
	size_t row_count, row_room;
	const char *notes[LISTING_NOTES_MAX];
	size_t note_count, event_count;
	uint64_t sampled_ns;
	struct image_lines *lines;
	struct sources *sources;
};

void listing_add_note(struct listing *l, const char *text); /* once each */
uint64_t *listing_zero_counts(struct listing *l);	    /* NULL when out of memory */
int listing_add_row(struct listing *l, const struct listing_row *row);
/* Rows of the items from first to end exclusive. */
int listing_add_instructions(struct listing *l, size_t first, size_t end);

/* listing_code.c: fills in items with code, text, samples. -ENOMEM; -ESTALE with the reason. */
int listing_read_code(struct listing *l, const struct listing_request *q, struct diag *ret_why);
/* listing_source.c: the rows of each form with source. */
int listing_make_both(struct listing *l);
int listing_make_by_line(struct listing *l);

#endif

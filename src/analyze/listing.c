/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/listing_state.h"
#include "util/array.h"

void listing_free(struct listing *l)
{
	if (!l)
		return;
	free(l->items);
	free(l->rows);
	image_lines_free(l->lines);
	sources_free(l->sources);
	arena_free(l->arena);
	free(l);
}

const struct listing_row *listing_rows(const struct listing *l, size_t *ret_count)
{
	*ret_count = l->row_count;
	return l->rows;
}

const char *listing_note(const struct listing *l, size_t index)
{
	return index < l->note_count ? l->notes[index] : NULL;
}

void listing_add_note(struct listing *l, const char *text)
{
	for (size_t i = 0; i < l->note_count; i++)
		if (strcmp(l->notes[i], text) == 0)
			return;
	if (l->note_count == LISTING_NOTES_MAX)
		return;
	const char *copy = arena_strndup(l->arena, text, strlen(text));
	if (copy)
		l->notes[l->note_count++] = copy;
}

uint64_t *listing_zero_counts(struct listing *l)
{
	return arena_alloc(l->arena, (l->event_count + 1) * sizeof(uint64_t));
}

int listing_add_row(struct listing *l, const struct listing_row *row)
{
	if (array_grow(&l->rows, l->row_count, &l->row_room, sizeof(*l->rows), 256))
		return -ENOMEM;
	l->rows[l->row_count++] = *row;
	return 0;
}

/* Source positions of all items. Without them, a note and no positions. */
static int read_lines(struct listing *l, const struct listing_request *q)
{
	struct diag diag = {""};
	uint64_t *addresses = reallocarray(NULL, l->item_count + 1, sizeof(*addresses));

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < l->item_count; i++)
		addresses[i] = l->items[i].address;
	int r = image_find_lines(q->finder, q->image, q->image_path, addresses, l->item_count,
				 &l->lines, &diag);
	free(addresses);
	if (r < 0) {
		char note[sizeof(diag.text) + 32];

		snprintf(note, sizeof(note), "no source: %s", diag.text);
		listing_add_note(l, note);
		return 0;
	}
	for (size_t i = 0; i < l->item_count; i++) {
		const struct image_frame *frames;
		size_t n = image_lines_frames(l->lines, i, &frames);

		if (n)
			l->items[i].frame = frames[0];
		l->items[i].inlined = n > 1;
	}
	return 0;
}

int listing_add_instructions(struct listing *l, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; i < end && !r; i++) {
		const struct listing_item *item = &l->items[i];
		struct listing_row row = {
			.kind = LISTING_INSTRUCTION,
			.address = item->address,
			.line = item->frame.line,
			.file = item->frame.file,
			.function = item->frame.function,
			.text = item->text,
			.counts = item->counts,
		};

		r = listing_add_row(l, &row);
	}
	return r;
}

/* With the source itself between the instructions; without a single line of it those rows would
 * only be in the way: the instructions' rows have the line numbers too. */
static int make_both(struct listing *l)
{
	int r = listing_make_both(l);

	for (size_t i = 0; i < l->row_count && !r; i++)
		if (l->rows[i].kind == LISTING_SOURCE && l->rows[i].text)
			return 0;
	l->row_count = 0;
	return r ? r : listing_add_instructions(l, 0, l->item_count);
}

int listing_new(const struct listing_request *q, struct listing **ret, struct diag *diag)
{
	if (q->size > LISTING_MAX_BYTES)
		return diag_fail(diag, EFBIG, "0x%llx bytes of code are too much for one listing",
				 (unsigned long long)q->size);
	struct listing *l = calloc(1, sizeof(*l));
	int r = l ? 0 : -ENOMEM;
	if (!r) {
		l->event_count = q->event_count;
		l->sampled_ns = q->sampled_ns;
		l->arena = arena_new(LISTING_TEXT_MAX);
		l->sources = sources_new();
		r = l->arena && l->sources ? listing_read_code(l, q, diag) : -ENOMEM;
	}
	if (!r)
		r = read_lines(l, q);
	if (!r && q->form == LISTING_BY_LINE)
		r = listing_make_by_line(l);
	else if (!r)
		r = q->form == LISTING_BOTH && l->lines
			    ? make_both(l)
			    : listing_add_instructions(l, 0, l->item_count);
	if (r < 0) {
		listing_free(l);
		return r == -ESTALE ? r : diag_fail(diag, -r, "out of memory for a listing");
	}
	*ret = l;
	return 0;
}

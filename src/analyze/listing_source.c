/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/listing_state.h"
#include "util/array.h"
#include "util/num.h"

/* Lines of the function's own file that are shown around those with code, at most. */
#define GAP_MAX 10000

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const struct listing_item *a, const struct listing_item *b)
{
	return a->frame.line == b->frame.line && same_text(a->frame.file, b->frame.file) &&
	       same_text(a->frame.function, b->frame.function);
}

static void add_counts(const struct listing *l, uint64_t *to, const uint64_t *from)
{
	for (size_t e = 0; e < l->event_count; e++)
		to[e] += from[e];
}

/* That a file is not the one that was compiled is noted once. */
static enum source_age find_age(struct listing *l, const struct image_frame *frame)
{
	uint64_t built_ns = frame->built_ns ? frame->built_ns : l->sampled_ns;
	enum source_age age = sources_age(l->sources, frame->file, frame->file_md5, built_ns);
	struct diag note;

	if (age == SOURCE_AS_BUILT)
		return age;
	source_age_describe(age, frame->file, note.text, sizeof(note.text));
	listing_add_note(l, note.text);
	return age;
}

/* The text of a source line; that it is gone is noted once a file. */
static int add_source(struct listing *l, const struct image_frame *frame, const uint64_t *counts)
{
	struct listing_row row = {
		.kind = LISTING_SOURCE,
		.address = ISA_NO_ADDRESS,
		.line = frame->line,
		.file = frame->file,
		.function = frame->function,
		.counts = counts,
	};
	struct diag diag = {""};

	if (frame->file && frame->line) {
		const char *text = sources_line(l->sources, frame->file, frame->line, &diag);

		if (text)
			row.text = arena_strndup(l->arena, text, strlen(text));
		else
			listing_add_note(l, diag.text);
		if (row.text)
			row.age = find_age(l, frame);
	}
	return listing_add_row(l, &row);
}

static int add_heading(struct listing *l, const struct listing_item *item)
{
	struct listing_row row = {.kind = LISTING_FILE,
				  .address = ISA_NO_ADDRESS,
				  .file = item->frame.file,
				  .function = item->frame.function};
	const char *file = item->frame.file ? item->frame.file : "(no source file recorded)";

	if (item->inlined && item->frame.function)
		row.text = arena_printf(l->arena, "%s: %s, inlined", file, item->frame.function);
	else
		row.text = arena_strndup(l->arena, file, strlen(file));
	return row.text ? listing_add_row(l, &row) : -ENOMEM;
}

/* A run is the instructions in a row that come from the same line. */
static int add_run(struct listing *l, size_t first, size_t end)
{
	uint64_t *sum = listing_zero_counts(l);
	int r = sum ? 0 : -ENOMEM;

	for (size_t i = first; i < end && !r; i++)
		add_counts(l, sum, l->items[i].counts);
	if (!r)
		r = add_source(l, &l->items[first].frame, sum);
	return r ? r : listing_add_instructions(l, first, end);
}

int listing_make_both(struct listing *l)
{
	const struct listing_item *last = NULL;
	int r = 0;

	for (size_t i = 0; i < l->item_count && !r;) {
		const struct listing_item *item = &l->items[i];
		size_t end = i + 1;

		while (end < l->item_count && same_place(item, &l->items[end]))
			end++;
		if (!last || !same_text(last->frame.file, item->frame.file) ||
		    !same_text(last->frame.function, item->frame.function))
			r = add_heading(l, item);
		last = item;
		if (!r)
			r = add_run(l, i, end);
		i = end;
	}
	return r;
}

static int compare_places(const void *pa, const void *pb)
{
	const struct listing_item *a = *(struct listing_item *const *)pa;
	const struct listing_item *b = *(struct listing_item *const *)pb;
	const char *file_a = a->frame.file ? a->frame.file : "";
	const char *file_b = b->frame.file ? b->frame.file : "";
	int files = strcmp(file_a, file_b);

	if (files)
		return files;
	return NUM_ORDER(a->frame.line, b->frame.line) ?: NUM_ORDER(a->address, b->address);
}

/* The lines of the function's own file that have no code, from one to the other exclusive. */
static int add_gap(struct listing *l, const struct image_frame *from, uint32_t to)
{
	const uint64_t *none = listing_zero_counts(l);
	struct image_frame frame = {
		.file = from->file, .file_md5 = from->file_md5, .built_ns = from->built_ns};
	int r = none ? 0 : -ENOMEM;

	if (to - from->line > GAP_MAX)
		return r;
	for (frame.line = from->line + 1; frame.line < to && !r; frame.line++)
		r = add_source(l, &frame, none);
	return r;
}

/* All items of one file, sorted by line; own: the file that the function itself is in. */
static int add_file_lines(struct listing *l, struct listing_item **list, size_t count,
			  const char *own)
{
	struct listing_item heading = {.frame = {.file = list[0]->frame.file}};
	bool is_own = same_text(own, heading.frame.file);
	int r = add_heading(l, &heading);

	for (size_t i = 0; i < count && !r;) {
		const struct image_frame *frame = &list[i]->frame;
		uint64_t *sum = listing_zero_counts(l);

		if (!sum)
			return -ENOMEM;
		for (; i < count && list[i]->frame.line == frame->line; i++)
			add_counts(l, sum, list[i]->counts);
		r = add_source(l, frame, sum);
		if (!r && is_own && frame->line && i < count)
			r = add_gap(l, frame, list[i]->frame.line);
	}
	return r;
}

int listing_make_by_line(struct listing *l)
{
	struct listing_item **list = reallocarray(NULL, l->item_count + 1, sizeof(*list));
	const char *own = NULL;
	int r = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < l->item_count; i++) {
		list[i] = &l->items[i];
		if (!own && !l->items[i].inlined)
			own = l->items[i].frame.file;
	}
	array_sort(list, l->item_count, sizeof(*list), compare_places);
	for (size_t i = 0; i < l->item_count && !r;) {
		size_t end = i + 1;

		while (end < l->item_count && same_text(list[i]->frame.file, list[end]->frame.file))
			end++;
		r = add_file_lines(l, list + i, end - i, own);
		i = end;
	}
	free(list);
	return r;
}

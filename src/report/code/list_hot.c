/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/list_hot.h"

#include <errno.h>
#include <stdlib.h>
#include "util/search.h"
#include "util/text.h"

static int make_room(struct list_hot *h, size_t count)
{
	h->count = count;
	h->shown = calloc(count + 1, sizeof(*h->shown));
	return h->shown ? 0 : -ENOMEM;
}

static bool is_hot(const struct list_hot *h, uint64_t samples, uint64_t total)
{
	return samples && 100 * (double)samples >= h->min_percent * (double)total;
}

static void show_around(struct list_hot *h, size_t i)
{
	size_t first = i < LIST_HOT_CONTEXT ? 0 : i - LIST_HOT_CONTEXT;

	for (; first < h->count && first <= i + LIST_HOT_CONTEXT; first++)
		h->shown[first] = true;
}

int list_hot_of_rows(struct list_hot *h, const struct listing_row *rows, size_t count,
		     uint64_t total)
{
	size_t heading = count;

	if (!h->min_percent)
		return 0;
	if (make_room(h, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (rows[i].counts && is_hot(h, rows[i].counts[0], total))
			show_around(h, i);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].kind == LISTING_FILE)
			heading = i;
		else if (h->shown[i] && heading < count)
			h->shown[heading] = true;
	}
	return 0;
}

int list_hot_of_lines(struct list_hot *h, const struct rank_row *const *rows, size_t count,
		      uint64_t total)
{
	if (!h->min_percent)
		return 0;
	h->lines = reallocarray(NULL, count + 1, sizeof(*h->lines));
	if (!h->lines)
		return -ENOMEM;
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t samples = 0;

		for (end = i; end < count && rows[end]->line == rows[i]->line; end++)
			samples += rows[end]->counts[0];
		if (is_hot(h, samples, total))
			h->lines[h->line_count++] = rows[i]->line;
	}
	return 0;
}

static bool is_near(const struct list_hot *h, size_t line)
{
	size_t k = SEARCH_FIRST(h->line_count, at, (size_t)h->lines[at] + LIST_HOT_CONTEXT >= line);

	return k < h->line_count && h->lines[k] <= line + LIST_HOT_CONTEXT;
}

bool list_hot_shows(struct list_hot *h, size_t i, uint64_t samples)
{
	if (h->lines ? is_near(h, i) : !h->shown || (i < h->count && h->shown[i]))
		return true;
	h->rows_left_out++;
	h->samples_left_out += samples;
	return false;
}

void list_hot_describe(const struct list_hot *h, struct report_header *header)
{
	if (h->rows_left_out)
		report_header_note(header,
				   "%llu %s with %llu %s %s left out: those with less than "
				   "%g%% that stand near no others (--min)",
				   TEXT_COUNT(h->rows_left_out, "row", "rows"),
				   TEXT_COUNT(h->samples_left_out, "sample", "samples"),
				   text_plural(h->rows_left_out, "is", "are"), h->min_percent);
}

void list_hot_free(struct list_hot *h)
{
	free(h->shown);
	free(h->lines);
	h->shown = NULL;
	h->lines = NULL;
}

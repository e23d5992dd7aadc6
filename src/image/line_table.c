/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include "image/lines_new.h"
#include "util/array.h"
#include "util/search.h"

#define TABLE_MAGIC 0x31544c43u /* "CLT1" */

void image_line_table_free(struct image_line_table *t)
{
	free(t->ranges);
	free(t->starts);
	image_lines_free(t->lines);
	*t = (struct image_line_table){0};
}

int image_line_table_add_range(struct image_line_table *t, struct image_range range)
{
	if (array_grow(&t->ranges, t->range_count, &t->range_room, sizeof(*t->ranges), 64))
		return -ENOMEM;
	t->ranges[t->range_count++] = range;
	return 0;
}

int image_line_table_add_run(struct image_line_table *t, uint64_t start,
			     const struct image_lines *from, size_t k)
{
	bool first = start == t->ranges[t->range_count - 1].start;

	if (!first && image_lines_same(t->lines, t->run_count - 1, from, k))
		return 0;
	if (t->run_count == LINE_TABLE_MAX_RUNS ||
	    image_lines_all_frames(t->lines) >= LINE_TABLE_MAX_FRAMES)
		return -EFBIG;
	if (array_grow(&t->starts, t->run_count, &t->run_room, sizeof(*t->starts), 64))
		return -ENOMEM;
	t->starts[t->run_count] = start;
	return image_lines_copy(t->lines, t->run_count++, from, k);
}

void image_line_table_finish(struct image_line_table *t)
{
	image_lines_cut(t->lines, t->run_count);
}

static size_t first_run(const struct image_line_table *t, uint64_t address)
{
	return SEARCH_FIRST(t->run_count, i, t->starts[i] >= address);
}

static int copy_range(struct image_line_table *to, const struct image_line_table *from, size_t i)
{
	const struct image_range *range = &from->ranges[i];
	int r = image_line_table_add_range(to, *range);

	for (size_t k = first_run(from, range->start);
	     !r && k < from->run_count && from->starts[k] < range->end; k++)
		r = image_line_table_add_run(to, from->starts[k], from->lines, k);
	return r;
}

static bool overlaps(const struct image_range *a, const struct image_range *b)
{
	return a->start < b->end && b->start < a->end;
}

int image_line_table_merge(const struct image_line_table *a, const struct image_line_table *b,
			   struct image_line_table *ret)
{
	struct image_line_table t = {0};
	size_t i = 0, k = 0;
	int r = image_lines_new(a->run_count + b->run_count, &t.lines);

	if (!r)
		image_lines_set_built(t.lines, a->lines ? image_lines_built(a->lines)
							: image_lines_built(b->lines));
	while (!r && (i < a->range_count || k < b->range_count)) {
		bool any_a = i < a->range_count, any_b = k < b->range_count;

		if (any_a && any_b && overlaps(&a->ranges[i], &b->ranges[k]))
			k++;
		else if (!any_b || (any_a && a->ranges[i].start < b->ranges[k].start))
			r = copy_range(&t, a, i++);
		else
			r = copy_range(&t, b, k++);
	}
	if (r < 0) {
		image_line_table_free(&t);
		return r;
	}
	image_line_table_finish(&t);
	*ret = t;
	return 0;
}

int image_line_table_of(const uint64_t *addresses, size_t count, struct image_lines *lines,
			struct image_line_table *ret)
{
	/* Nothing is behind the last of all addresses, where its range would end. */
	count -= count && addresses[count - 1] == UINT64_MAX;
	struct image_line_table t = {.ranges = calloc(count + 1, sizeof(*t.ranges)),
				     .starts = calloc(count + 1, sizeof(*t.starts)),
				     .range_count = count,
				     .range_room = count,
				     .run_count = count,
				     .run_room = count};
	for (size_t i = 0; i < count && t.ranges && t.starts; i++) {
		t.ranges[i] = (struct image_range){addresses[i], addresses[i] + 1};
		t.starts[i] = addresses[i];
	}
	if (!t.ranges || !t.starts) {
		image_line_table_free(&t);
		return -ENOMEM;
	}
	t.lines = lines;
	image_line_table_finish(&t);
	*ret = t;
	return 0;
}

size_t image_line_table_find(const struct image_line_table *t, uint64_t address)
{
	size_t i = SEARCH_FIRST(t->range_count, n, t->ranges[n].end > address);

	if (i == t->range_count || address < t->ranges[i].start)
		return SIZE_MAX;
	return first_run(t, address + 1) - 1;
}

/* magic; for each range the gap to the one before, its size, and where its runs begin: their number
 * and the gaps between them; then the lines of all runs. */
int image_line_table_save(const struct image_line_table *t, struct buf *out)
{
	uint64_t end = 0;

	buf_append_u32(out, TABLE_MAGIC);
	buf_append_varint(out, t->range_count);
	for (size_t i = 0, run = 0; i < t->range_count; i++) {
		const struct image_range *range = &t->ranges[i];
		size_t last = first_run(t, range->end);

		buf_append_varint(out, range->start - end);
		buf_append_varint(out, range->end - range->start);
		buf_append_varint(out, last - run);
		for (run++; run < last; run++)
			buf_append_varint(out, t->starts[run] - t->starts[run - 1]);
		end = range->end;
	}
	return image_lines_save(t->lines, out);
}

/* The runs of a range; room for all that the bytes can tell of is there. */
static int load_runs(struct image_line_table *t, struct cursor *c, const struct image_range *range,
		     uint64_t count)
{
	uint64_t at = range->start;

	if (!count || count > cursor_left(c) || count > LINE_TABLE_MAX_RUNS - t->run_count)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t gap = i ? cursor_varint(c) : 0;

		if (c->error || (i && !gap) || gap >= range->end - at)
			return -EBADMSG;
		if (array_grow(&t->starts, t->run_count, &t->run_room, sizeof(*t->starts), 64))
			return -ENOMEM;
		t->starts[t->run_count++] = at += gap;
	}
	return 0;
}

static int load_ranges(struct image_line_table *t, struct cursor *c)
{
	uint64_t count = cursor_varint(c), end = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t gap = cursor_varint(c), size = cursor_varint(c), runs = cursor_varint(c);

		if (c->error || !size || gap > UINT64_MAX - end || size > UINT64_MAX - end - gap)
			return -EBADMSG;
		struct image_range range = {end + gap, end + gap + size};
		int r = image_line_table_add_range(t, range);
		if (!r)
			r = load_runs(t, c, &range, runs);
		if (r < 0)
			return r;
		end = range.end;
	}
	return c->error;
}

int image_line_table_load(const void *data, size_t size, struct image_line_table *ret)
{
	struct cursor c = cursor_over(data, size);
	struct image_line_table t = {0};
	int r = cursor_u32(&c) == TABLE_MAGIC ? load_ranges(&t, &c) : -EBADMSG;

	if (!r)
		r = image_lines_load_unfinished(c.at, cursor_left(&c), &t.lines);
	if (!r && image_lines_count(t.lines) != t.run_count)
		r = -EBADMSG;
	if (r < 0) {
		image_line_table_free(&t);
		return r;
	}
	*ret = t;
	return 0;
}

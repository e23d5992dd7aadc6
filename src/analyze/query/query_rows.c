/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/query_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

/*
 * The rows of a part come as a few long ascending runs, one a profile and file. A natural merge
 * sort (Knuth 5.2.4, algorithm N) takes each run as it is, and sums equal rows as it goes.
 */

static bool row_before(const struct query_row *a, const struct query_row *b)
{
	return a->offset < b->offset || (a->offset == b->offset && a->event < b->event);
}

static bool row_same(const struct query_row *a, const struct query_row *b)
{
	return a->offset == b->offset && a->event == b->event;
}

void query_rows_put(struct query_row *out, size_t begin, size_t *end, const struct query_row *row)
{
	if (*end > begin && row_same(&out[*end - 1], row))
		out[*end - 1].count = num_add_sat(out[*end - 1].count, row->count);
	else
		out[(*end)++] = *row;
}

/* Merges two adjacent runs to out + at; returns the end of what was written. */
static size_t merge_runs(const struct query_row *rows, size_t a, size_t a_end, size_t b_end,
			 struct query_row *out, size_t at)
{
	size_t b = a_end, begin = at;

	while (a < a_end || b < b_end) {
		if (b == b_end || (a < a_end && !row_before(&rows[b], &rows[a])))
			query_rows_put(out, begin, &at, &rows[a++]);
		else
			query_rows_put(out, begin, &at, &rows[b++]);
	}
	return at;
}

/* The starts of the runs, and the end after them. runs has room for count + 1. */
static size_t find_runs(const struct query_row *rows, size_t count, size_t sorted, size_t *runs)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i = i ? i + 1 : (sorted ? sorted : 1)) {
		if (!i || !row_before(&rows[i - 1], &rows[i]))
			runs[n++] = i;
	}
	runs[n] = count;
	return n;
}

/* One pass: pairs of runs from rows to out. Returns the number of runs left. */
static size_t merge_pass(const struct query_row *rows, struct query_row *out, size_t *runs,
			 size_t run_count)
{
	size_t n = 0, at = 0, begin;

	for (size_t i = 0; i < run_count; i += 2) {
		begin = at;
		at = merge_runs(rows, runs[i], runs[i + 1], runs[i + 1 < run_count ? i + 2 : i + 1],
				out, at);
		runs[n++] = begin;
	}
	runs[n] = at;
	return n;
}

int query_rows_merge(struct query_part *p)
{
	struct query_row *spare, *swap, *rows = p->rows;
	size_t *runs, run_count;

	if (p->sorted == p->row_count)
		return 0;
	runs = reallocarray(NULL, p->row_count + 1, sizeof(*runs));
	spare = reallocarray(NULL, p->row_room, sizeof(*spare));
	if (!runs || !spare) {
		free(runs);
		free(spare);
		return -ENOMEM;
	}
	run_count = find_runs(rows, p->row_count, p->sorted, runs);
	while (run_count > 1) {
		run_count = merge_pass(rows, spare, runs, run_count);
		swap = rows;
		rows = spare;
		spare = swap;
	}
	p->rows = rows;
	p->row_count = p->sorted = runs[1];
	free(spare);
	free(runs);
	return 0;
}

int query_rows_add(struct query_part *p, uint64_t offset, uint32_t event, uint64_t count)
{
	int r;

	if (p->row_count == p->row_room) {
		r = query_rows_merge(p);
		/* Merging half away is enough; otherwise they really are that many. */
		if (!r && (p->row_count * 2 > p->row_room || !p->row_room))
			r = array_grow(&p->rows, p->row_room, &p->row_room, sizeof(*p->rows), 64);
		if (r)
			return r;
	}
	p->rows[p->row_count++] = (struct query_row){offset, count, event};
	return 0;
}

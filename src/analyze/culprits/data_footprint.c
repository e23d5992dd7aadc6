/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/data_footprint.h"

#include <math.h>
#include <stdlib.h>
#include "db/touches.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

/* Fewer windows tell nothing. */
#define LEAST_WINDOWS 30
/* Places seen in two windows from which on there is an upper limit, or if so few were seen once. */
#define LEAST_TWICE 2
#define FEW_ONCE    0.05

static int compare_touches(const void *pa, const void *pb)
{
	const struct evidence_edge *a = pa, *b = pb;

	return NUM_ORDER(a->from, b->from) ?: NUM_ORDER(a->to, b->to);
}

size_t data_touches_join(struct evidence_edge *touches, size_t count)
{
	size_t n = 0;

	if (!count)
		return 0;
	array_sort(touches, count, sizeof(*touches), compare_touches);
	for (size_t i = 0; i < count; i++) {
		if (n > 0 && compare_touches(&touches[n - 1], &touches[i]) == 0)
			touches[n - 1].count = num_add_sat(touches[n - 1].count, touches[i].count);
		else
			touches[n++] = touches[i];
	}
	return n;
}

/* Of distinct places: how many were seen, in one window, in two; and the windows. */
struct tally {
	double seen, once, twice, windows;
};

static void tally_add(struct tally *t, uint64_t count)
{
	t->seen++;
	t->once += count == 1;
	t->twice += count == 2;
	t->windows += (double)count;
}

/* part: of all places, that the tally is of; slack: by which it may be larger or smaller. */
static struct data_count estimate(const struct tally *t, double part, double slack)
{
	double pairs = t->once * (t->once - 1) / 2, more = (t->once + 1) * (t->once + 2) / 2;
	double twice = t->twice + 1;
	struct data_count c = {
		.least = (t->seen + pairs / (twice + 2 * sqrt(twice))) / part / slack,
		.likely = (t->seen + pairs / twice) / part,
		.most = INFINITY,
	};

	if (t->twice >= LEAST_TWICE || t->once <= FEW_ONCE * t->windows)
		c.most = (t->seen + more / fmax(1, t->twice - sqrt(t->twice))) / part * slack;
	c.most = fmax(c.most, c.likely);
	return c;
}

static struct data_footprint footprint(const struct evidence_edge *t, size_t count, bool is_cut)
{
	struct tally lines = {0}, pages = {0};
	double part = 1, slack = 1;
	uint64_t last = t[count - 1].to / DB_TOUCH_PAGE_LINES, page, windows;

	for (size_t i = 0; i < count;) {
		page = t[i].to / DB_TOUCH_PAGE_LINES;
		if (is_cut && page == last && i > 0)
			break; /* not all of its lines are here */
		for (windows = 0; i < count && t[i].to / DB_TOUCH_PAGE_LINES == page; i++) {
			tally_add(&lines, t[i].count);
			windows = num_add_sat(windows, t[i].count);
		}
		tally_add(&pages, windows);
	}
	if (is_cut) { /* two deviations of how many pages are in a part of so many */
		part = fmin(1, ((double)last + 1) / ((double)UINT32_MAX + 1));
		slack = 1 + 2 / sqrt(pages.seen);
	}
	if (lines.windows < LEAST_WINDOWS)
		return (struct data_footprint){0};
	return (struct data_footprint){lines.windows, estimate(&lines, part, slack),
				       estimate(&pages, part, slack)};
}

size_t data_touches_seek(const struct evidence_edge *touches, size_t count, uint64_t address)
{
	return SEARCH_FIRST(count, i, touches[i].from >= address);
}

struct data_footprint data_footprint_of(const struct evidence_edge *touches, size_t count,
					uint64_t load)
{
	size_t low = data_touches_seek(touches, count, load), high = low;

	while (high < count && high - low < DB_TOUCHES_MAX && touches[high].from == load)
		high++;
	if (high == low)
		return (struct data_footprint){0};
	return footprint(touches + low, high - low, high - low == DB_TOUCHES_MAX);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf_space.h"
#include "util/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"

struct perf_space {
	uint32_t refs;
	struct perf_range *list; /* ascending, disjoint */
	size_t count, room;
	size_t last; /* that was found: samples of one come together */
};

struct perf_space *perf_space_new(void)
{
	struct perf_space *s = calloc(1, sizeof(*s));

	if (s)
		s->refs = 1;
	return s;
}

struct perf_space *perf_space_ref(struct perf_space *s)
{
	s->refs++;
	return s;
}

void perf_space_unref(struct perf_space *s)
{
	if (!s || --s->refs)
		return;
	free(s->list);
	free(s);
}

/* The first range that ends above the address. */
static size_t first_above(const struct perf_space *s, uint64_t address)
{
	return SEARCH_FIRST(s->count, i, s->list[i].end > address);
}

static bool has(const struct perf_space *s, size_t i, uint64_t address)
{
	return i < s->count && s->list[i].start <= address && s->list[i].end > address;
}

const struct perf_range *perf_space_find(struct perf_space *s, uint64_t address)
{
	if (!has(s, s->last, address))
		s->last = first_above(s, address);
	return has(s, s->last, address) ? &s->list[s->last] : NULL;
}

/* A list of its own with room for two more. */
static int prepare(struct perf_space **s)
{
	struct perf_space *from = *s, *to = from;

	if (from->refs > 1)
		to = perf_space_new();
	int r = to ? array_reserve(&to->list, from->count + 2, &to->room, sizeof(*to->list), 8)
		   : -ENOMEM;
	if (to == from)
		return r;
	if (r) {
		perf_space_unref(to);
		return r;
	}
	if (from->count)
		memcpy(to->list, from->list, from->count * sizeof(*from->list));
	to->count = from->count;
	perf_space_unref(from);
	*s = to;
	return 0;
}

static void move(struct perf_space *s, size_t from, size_t to)
{
	memmove(&s->list[to], &s->list[from], (s->count - from) * sizeof(*s->list));
	s->count = s->count + to - from;
}

/* Cuts [start, end) out; there is room for one more. */
static size_t clear(struct perf_space *s, uint64_t start, uint64_t end)
{
	size_t i = first_above(s, start), last;

	if (i < s->count && s->list[i].start < start) {
		if (s->list[i].end > end) { /* in the middle of one */
			move(s, i, i + 1);
			s->list[i + 1].start = end;
		}
		s->list[i].end = start;
		i++;
	}
	for (last = i; last < s->count && s->list[last].end <= end; last++)
		;
	if (last < s->count && s->list[last].start < end)
		s->list[last].start = end;
	move(s, last, i);
	return i;
}

int perf_space_add(struct perf_space **s, const struct perf_range *range)
{
	size_t i;

	if (range->start >= range->end)
		return -EINVAL;
	if ((*s)->count + 2 > PERF_RANGES_MAX)
		return -ENOSPC;
	int r = prepare(s);
	if (r)
		return r;
	i = clear(*s, range->start, range->end);
	move(*s, i, i + 1);
	(*s)->list[i] = *range;
	return 0;
}

int perf_space_remove(struct perf_space **s, uint64_t start, uint64_t end)
{
	if (start >= end)
		return 0;
	if ((*s)->count == PERF_RANGES_MAX)
		return -ENOSPC;
	int r = prepare(s);
	if (!r)
		clear(*s, start, end);
	return r;
}

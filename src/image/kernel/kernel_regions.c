/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel_regions.h"
#include "util/array.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kernel_regions_free(struct kernel_regions *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((char *)s->list[i].region.path);
	free(s->list);
	*s = (struct kernel_regions){.refused = s->refused};
}

/* Makes room for one more at index. */
static int regions_open(struct kernel_regions *s, size_t index, const struct kernel_region *r)
{
	if (s->count == KERNEL_REGIONS_MAX) {
		s->refused++;
		return -ENOSPC;
	}
	if (array_grow(&s->list, s->count, &s->room, sizeof(*s->list), 16))
		return -ENOMEM;
	char *path = strdup(r->region.path);
	if (!path)
		return -ENOMEM;
	memmove(s->list + index + 1, s->list + index, (s->count - index) * sizeof(*s->list));
	s->list[index] = *r;
	s->list[index].region.path = path;
	s->count++;
	return 0;
}

static void regions_remove(struct kernel_regions *s, size_t index, size_t count)
{
	for (size_t i = index; i < index + count; i++)
		free((char *)s->list[i].region.path);
	memmove(s->list + index, s->list + index + count,
		(s->count - index - count) * sizeof(*s->list));
	s->count -= count;
}

int kernel_regions_append(struct kernel_regions *s, const struct kernel_region *r)
{
	return regions_open(s, s->count, r);
}

static int compare_start(const void *a, const void *b)
{
	const struct kernel_region *x = a, *y = b;

	if (x->region.start != y->region.start)
		return x->region.start < y->region.start ? -1 : 1;
	return strcmp(x->region.path, y->region.path);
}

void kernel_regions_sort(struct kernel_regions *s)
{
	size_t kept = 0;

	array_sort(s->list, s->count, sizeof(*s->list), compare_start);
	for (size_t i = 0; i < s->count; i++) {
		struct kernel_region r = s->list[i];

		if (i + 1 < s->count && r.region.end > s->list[i + 1].region.start)
			r.region.end = s->list[i + 1].region.start;
		if (r.region.end > r.region.start)
			s->list[kept++] = r;
		else
			free((char *)r.region.path);
	}
	s->count = kept;
}

/* The index of the first region that starts after address. */
static size_t regions_after(const struct kernel_regions *s, uint64_t address)
{
	return SEARCH_FIRST(s->count, i, s->list[i].region.start > address);
}

bool kernel_regions_is_free(const struct kernel_regions *s, uint64_t start, uint64_t end)
{
	size_t after = regions_after(s, start);

	return (!after || s->list[after - 1].region.end <= start) &&
	       (after == s->count || s->list[after].region.start >= end);
}

int kernel_regions_insert(struct kernel_regions *s, const struct kernel_region *r)
{
	size_t index = regions_after(s, r->region.start), covered = 0;

	if (index && s->list[index - 1].region.start == r->region.start)
		index--;
	while (index + covered < s->count && s->list[index + covered].region.start < r->region.end)
		covered++;
	for (size_t i = index ? index - 1 : 0; i < index + covered; i++)
		if (s->list[i].region.id.kind == IMAGE_KERNEL &&
		    s->list[i].region.end > r->region.start)
			return -EINVAL;
	regions_remove(s, index, covered);
	int status = regions_open(s, index, r);
	if (!status && index && s->list[index - 1].region.end > r->region.start)
		s->list[index - 1].region.end = r->region.start;
	return status;
}

long kernel_regions_find(const struct kernel_regions *s, uint64_t address)
{
	size_t after = regions_after(s, address);

	return after && address < s->list[after - 1].region.end ? (long)after - 1 : -1;
}

long kernel_regions_find_start(const struct kernel_regions *s, uint64_t address)
{
	long i = kernel_regions_find(s, address);

	return i >= 0 && s->list[i].region.start == address ? i : -1;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "instrument/plan.h"
#include "util/array.h"
#include "util/num.h"

struct owned_range {
	uint64_t start, end;
};

struct entered {
	uint64_t *list;
	struct owned_range *ranges; /* of all functions */
	size_t count, room, range_count, range_room;
};

static int add(struct entered *e, uint64_t address)
{
	if (array_grow(&e->list, e->count, &e->room, sizeof(*e->list), 1024))
		return -ENOMEM;
	e->list[e->count++] = address;
	return 0;
}

/* Code of which other code takes the address may be called by anybody: what returns from a signal's
 * handler is, and the call frame information of its function begins a byte before it. */
static int add_references(struct entered *e, const struct cfg_function *f)
{
	size_t size;
	int r = 0;

	for (uint32_t i = 0; i < f->instruction_count && !r; i++)
		if (f->instructions[i].data != ISA_NO_ADDRESS &&
		    cfg_code_at(f->image, f->instructions[i].data, &size))
			r = add(e, f->instructions[i].data);
	return r;
}

static int add_function(struct entered *e, const struct cfg_function *f)
{
	int r = add(e, f->entry) ?: add_references(e, f);

	for (uint32_t i = 0; i < f->call_count && !r; i++)
		if (f->calls[i].target != ISA_NO_ADDRESS)
			r = add(e, f->calls[i].target);
	for (uint32_t i = 0; i < f->range_count && !r; i++) {
		r = array_grow(&e->ranges, e->range_count, &e->range_room, sizeof(*e->ranges),
			       1024);
		if (!r)
			e->ranges[e->range_count++] =
				(struct owned_range){f->ranges[i].start, f->ranges[i].end};
	}
	return r;
}

/* What two functions share is entered at its start, by one that is not the other. */
static int add_shared(struct entered *e)
{
	uint64_t end = 0;
	int r = 0;

	array_sort(e->ranges, e->range_count, sizeof(*e->ranges), num_compare_u64);
	for (size_t i = 0; i < e->range_count && !r; i++) {
		if (i && e->ranges[i].start < end) {
			r = add(e, e->ranges[i].start);
			/* Where both begin at the same place, only the middle tells. */
			if (!r && e->ranges[i].start == e->ranges[i - 1].start)
				r = add(e, e->ranges[i].start + 1);
		}
		if (e->ranges[i].end > end)
			end = e->ranges[i].end;
	}
	return r;
}

int instrument_entered_new(struct cfg_image *image, uint64_t **ret, size_t *ret_count)
{
	struct entered e = {0};
	int r = 0;

	for (size_t i = 0; i < cfg_image_count(image) && !r; i++) {
		const struct cfg_function *f;
		const uint64_t entry = cfg_image_entry(image, i);

		r = cfg_image_function(image, entry, &f);
		if (r == -ENOENT)
			r = add(&e, entry);
		/* A part split off is its function's. */
		else if (!r && f->entry == entry)
			r = add_function(&e, f);
	}
	if (!r)
		r = add_shared(&e);
	free(e.ranges);
	if (r) {
		free(e.list);
		return r;
	}
	*ret_count = num_sort_unique(e.list, e.count);
	*ret = e.list;
	return 0;
}

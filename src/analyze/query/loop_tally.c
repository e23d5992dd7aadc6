/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/loop_tally.h"

#include <errno.h>
#include <stdlib.h>
#include "cfg/function_graph.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define FUNCTIONS_MAX	 (1u << 20)
#define NESTS_MAX	 (1u << 22)
#define MEMORY_MAX_BYTES ((size_t)1 << 30)

struct one_function {
	const struct cfg_function *function;
	struct cfg_loops *loops;
	uint64_t *own, *total; /* of each loop, for each event */
};

struct loop_tally {
	struct cfg_image *image;
	size_t event_count;
	struct one_function *list;
	size_t count, room, incomplete;
	struct map64 *numbers; /* entry of a function -> its index */
	struct map64 *nests;   /* function and loop -> its struct loop_nest */
	size_t last;	       /* index of the function that was looked up last */
	struct arena *memory;
	struct loop_sum *sums;
};

int loop_tally_new(struct cfg_image *image, size_t event_count, struct loop_tally **ret)
{
	struct loop_tally *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->image = image;
	t->event_count = event_count;
	t->numbers = map64_new(FUNCTIONS_MAX);
	t->memory = arena_new(MEMORY_MAX_BYTES);
	t->nests = map64_new(NESTS_MAX);
	if (!t->numbers || !t->memory || !t->nests) {
		loop_tally_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void loop_tally_free(struct loop_tally *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		cfg_loops_free(t->list[i].loops);
	free(t->list);
	map64_free(t->numbers);
	map64_free(t->nests);
	arena_free(t->memory);
	free(t);
}

static int add_function(struct loop_tally *t, const struct cfg_function *f)
{
	struct one_function *one;
	size_t values;

	if (array_grow(&t->list, t->count, &t->room, sizeof(*t->list), 64))
		return -ENOMEM;
	one = &t->list[t->count];
	*one = (struct one_function){.function = f};
	int r = cfg_loops_of_function(f, &one->loops);
	if (r)
		return -ENOMEM;
	t->count++;
	t->incomplete += !f->complete;
	values = one->loops->loop_count * t->event_count;
	one->own = arena_alloc(t->memory, values * sizeof(*one->own));
	one->total = arena_alloc(t->memory, values * sizeof(*one->total));
	return one->own && one->total ? 0 : -ENOMEM;
}

/* 0 with the index of the function, -ENOENT when there is none, -ENOMEM. */
static int find_function(struct loop_tally *t, uint64_t address, size_t *ret)
{
	const struct cfg_function *f;
	uint64_t index;
	int r = cfg_image_function(t->image, address, &f);

	if (r)
		return r == -ENOMEM ? r : -ENOENT;
	if (map64_get(t->numbers, f->entry, &index)) {
		index = t->count;
		r = map64_put(t->numbers, f->entry, index);
		if (!r)
			r = add_function(t, f);
	}
	*ret = (size_t)index;
	return r ? -ENOMEM : 0;
}

/* An enum loop_place, or -ENOMEM. For LOOP_INSIDE, t->last is the function's index. */
static int find_loop(struct loop_tally *t, uint64_t address, uint32_t *ret)
{
	const struct one_function *one = t->count ? &t->list[t->last] : NULL;
	uint32_t block = CFG_OUTSIDE;
	int r;

	/* Neighbours are mostly of one function. */
	if (one)
		block = cfg_function_block_at(one->function, address);
	if (block == CFG_OUTSIDE) {
		r = find_function(t, address, &t->last);
		if (r == -ENOENT)
			t->last = 0;
		if (r)
			return r == -ENOENT ? LOOP_NO_CODE : r;
		one = &t->list[t->last];
		block = cfg_function_block_at(one->function, address);
	}
	if (block == CFG_OUTSIDE)
		return LOOP_NO_CODE;
	*ret = one->loops->innermost[block];
	return *ret == CFG_LOOP_NONE ? LOOP_OUTSIDE : LOOP_INSIDE;
}

int loop_tally_add(struct loop_tally *t, uint64_t address, size_t event, uint64_t count)
{
	uint32_t loop;
	int place = find_loop(t, address, &loop);
	uint64_t *own;

	if (place != LOOP_INSIDE)
		return place;
	own = &t->list[t->last].own[loop * t->event_count + event];
	*own = num_add_sat(*own, count);
	return LOOP_INSIDE;
}

static uint64_t header_address(const struct one_function *one, uint32_t loop)
{
	if (loop == CFG_LOOP_NONE)
		return ISA_NO_ADDRESS;
	return one->function->blocks[one->loops->loops[loop].header].start;
}

int loop_tally_nest(struct loop_tally *t, uint64_t address, struct arena *memory,
		    const struct loop_nest **ret)
{
	const struct loop_nest **link = ret;
	uint32_t loop;
	int place = find_loop(t, address, &loop), r = 0;

	*ret = NULL;
	if (place != LOOP_INSIDE)
		return place < 0 ? place : 0;
	/* From the innermost out, to the first that was made before. */
	for (; loop != CFG_LOOP_NONE && !r; loop = t->list[t->last].loops->loops[loop].parent) {
		const struct cfg_loop *l = &t->list[t->last].loops->loops[loop];
		uint64_t number = (uint64_t)t->last << 32 | loop, found;
		struct loop_nest *made;

		if (!map64_get(t->nests, number, &found)) {
			*link = (const struct loop_nest *)(uintptr_t)found;
			break;
		}
		made = arena_alloc(memory, sizeof(*made));
		if (!made)
			return -ENOMEM;
		*made = (struct loop_nest){NULL, header_address(&t->list[t->last], loop), l->depth,
					   l->irreducible};
		r = map64_put(t->nests, number, (uint64_t)(uintptr_t)made);
		*link = made;
		link = &made->parent;
	}
	return r ? -ENOMEM : 0;
}

/* Adds each loop's samples to those around it: a loop comes before those inside it. */
static void add_nested(const struct loop_tally *t, struct one_function *one)
{
	size_t events = t->event_count;

	for (size_t i = one->loops->loop_count; i-- > 0;) {
		uint32_t parent = one->loops->loops[i].parent;

		for (size_t e = 0; e < events; e++) {
			uint64_t *total = &one->total[i * events + e];

			*total = num_add_sat(*total, one->own[i * events + e]);
			if (parent != CFG_LOOP_NONE)
				one->total[parent * events + e] =
					num_add_sat(one->total[parent * events + e], *total);
		}
	}
}

static size_t list_loops(const struct loop_tally *t, const struct one_function *one,
			 struct loop_sum *list)
{
	size_t events = t->event_count, count = 0;

	for (uint32_t i = 0; i < one->loops->loop_count; i++) {
		const struct cfg_loop *loop = &one->loops->loops[i];
		uint64_t any = 0;

		for (size_t e = 0; e < events; e++)
			any |= one->total[i * events + e];
		if (!any)
			continue;
		list[count++] = (struct loop_sum){
			.header = header_address(one, i),
			.parent = header_address(one, loop->parent),
			.function = one->function->entry,
			.depth = loop->depth,
			.irreducible = loop->irreducible,
			.total = &one->total[i * events],
			.own = &one->own[i * events],
		};
	}
	return count;
}

int loop_tally_sums(struct loop_tally *t, const struct loop_sum **ret, size_t *ret_count)
{
	size_t loops = 0, count = 0;

	for (size_t i = 0; i < t->count; i++)
		loops += t->list[i].loops->loop_count;
	t->sums = arena_alloc(t->memory, loops * sizeof(*t->sums));
	if (!t->sums)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		add_nested(t, &t->list[i]);
		count += list_loops(t, &t->list[i], t->sums + count);
	}
	*ret = t->sums;
	*ret_count = count;
	return 0;
}

size_t loop_tally_incomplete(const struct loop_tally *t)
{
	return t->incomplete;
}

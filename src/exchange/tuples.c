/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/tuples.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

struct tuples {
	struct tuple *list;
	uint32_t count, max;
	size_t room;
	uint32_t *slots; /* number + 1; 0: free */
	uint32_t mask;
};

struct tuples *tuples_new(uint32_t max_entries)
{
	struct tuples *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->max = max_entries;
	t->mask = 1023;
	t->slots = calloc(t->mask + 1, sizeof(*t->slots));
	if (!t->slots) {
		free(t);
		return NULL;
	}
	return t;
}

void tuples_free(struct tuples *t)
{
	if (!t)
		return;
	free(t->list);
	free(t->slots);
	free(t);
}

static uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ hash_u64(b + 0x9e3779b97f4a7c15ull));
}

static int grow_slots(struct tuples *t)
{
	uint32_t mask = t->mask * 2 + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t at = hash_pair(t->list[i].a, t->list[i].b) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->mask = mask;
	return 0;
}

static int make_room(struct tuples *t)
{
	if (t->count >= t->max)
		return -ENOSPC;
	if (array_grow(&t->list, t->count, &t->room, sizeof(*t->list), 256))
		return -ENOMEM;
	return t->count >= t->mask / 2 ? grow_slots(t) : 0;
}

int tuples_add(struct tuples *t, uint64_t a, uint64_t b, uint64_t count, uint32_t *ret)
{
	uint64_t at = hash_pair(a, b) & t->mask;

	for (; t->slots[at]; at = (at + 1) & t->mask) {
		struct tuple *known = &t->list[t->slots[at] - 1];

		if (known->a != a || known->b != b)
			continue;
		known->count = num_add_sat(known->count, count);
		if (ret)
			*ret = t->slots[at] - 1;
		return 0;
	}
	int r = make_room(t);

	if (r)
		return r;
	/* The table may have grown. */
	for (at = hash_pair(a, b) & t->mask; t->slots[at]; at = (at + 1) & t->mask)
		;
	t->list[t->count] = (struct tuple){a, b, count};
	t->slots[at] = ++t->count;
	if (ret)
		*ret = t->count - 1;
	return 0;
}

uint32_t tuples_count(const struct tuples *t)
{
	return t->count;
}

const struct tuple *tuples_at(const struct tuples *t, uint32_t number)
{
	return &t->list[number];
}

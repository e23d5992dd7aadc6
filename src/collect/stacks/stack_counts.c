/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stack_counts.h"

#include <stdlib.h>
#include "util/hash.h"

/*
 * By 63 bits of a key's first half: a count, whether it has waited through a drain, and 31 bits of
 * the other half, by which a stack knows that the count is its own.
 */
#define COUNT_MASK 0x7fffffffull
#define WAITED	   0x80000000ull
#define TAG_MASK   (~(uint64_t)0 << 32)

struct stack_counts {
	struct map64 *map;
	size_t max;
	uint64_t lost;
};

struct stack_counts *stack_counts_new(size_t max_stacks)
{
	struct stack_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->max = max_stacks;
	c->map = map64_new(max_stacks);
	if (!c->map) {
		free(c);
		return NULL;
	}
	return c;
}

void stack_counts_free(struct stack_counts *c)
{
	if (!c)
		return;
	map64_free(c->map);
	free(c);
}

static uint64_t index_of(const struct wire_stack_key *key)
{
	return key->hash[0] >> 1; /* the map has no room for one of all ones */
}

static uint64_t tag_of(const struct wire_stack_key *key)
{
	return key->hash[1] & TAG_MASK;
}

void stack_counts_add(struct stack_counts *c, const struct wire_stack_key *key, uint32_t count)
{
	uint64_t value = tag_of(key), sum;

	map64_get(c->map, index_of(key), &value);
	sum = (value & COUNT_MASK) + count;
	if ((value & TAG_MASK) != tag_of(key) || sum > COUNT_MASK ||
	    map64_put(c->map, index_of(key), tag_of(key) | sum))
		c->lost += count;
}

uint32_t stack_counts_take(struct stack_counts *c, const struct wire_stack_key *key)
{
	uint64_t value;

	if (map64_get(c->map, index_of(key), &value) || (value & TAG_MASK) != tag_of(key))
		return 0;
	map64_remove(c->map, index_of(key));
	return (uint32_t)(value & COUNT_MASK);
}

struct ageing {
	struct map64 *next;
	uint64_t lost;
};

static void age_count(uint64_t key, uint64_t value, void *arg)
{
	struct ageing *a = arg;

	if (value & WAITED || map64_put(a->next, key, value | WAITED))
		a->lost += value & COUNT_MASK;
}

void stack_counts_age(struct stack_counts *c)
{
	struct ageing a = {0};

	if (!map64_count(c->map))
		return;
	a.next = map64_new(c->max);
	if (!a.next)
		return; /* they wait for another drain */
	map64_each(c->map, age_count, &a);
	map64_free(c->map);
	c->map = a.next;
	c->lost += a.lost;
}

uint64_t stack_counts_lost(const struct stack_counts *c)
{
	return c->lost;
}

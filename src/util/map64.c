/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "util/hash.h"

#define EMPTY UINT64_MAX

struct map64_slot {
	uint64_t key, value;
};

struct map64 {
	struct map64_slot *slots; /* linear probing, a power of two of them, or none */
	size_t slot_count, count, max;
};

struct map64 *map64_new(size_t max_entries)
{
	struct map64 *m = calloc(1, sizeof(*m));

	if (m)
		m->max = max_entries;
	return m;
}

void map64_clear(struct map64 *m)
{
	free(m->slots);
	*m = (struct map64){.max = m->max};
}

void map64_free(struct map64 *m)
{
	if (m)
		map64_clear(m);
	free(m);
}

/* The slot that holds the key, or the empty one where it belongs. slot_count must not be 0. */
static size_t map64_slot(const struct map64 *m, uint64_t key)
{
	size_t at = hash_u64(key) & (m->slot_count - 1);

	while (m->slots[at].key != key && m->slots[at].key != EMPTY)
		at = (at + 1) & (m->slot_count - 1);
	return at;
}

static int map64_grow(struct map64 *m)
{
	struct map64 bigger = {.slot_count = m->slot_count ? 2 * m->slot_count : 32};

	if ((m->count + 1) * 4 <= m->slot_count * 3)
		return 0;
	bigger.slots = reallocarray(NULL, bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.slot_count; i++)
		bigger.slots[i].key = EMPTY;
	for (size_t i = 0; i < m->slot_count; i++) {
		if (m->slots[i].key != EMPTY)
			bigger.slots[map64_slot(&bigger, m->slots[i].key)] = m->slots[i];
	}
	free(m->slots);
	m->slots = bigger.slots;
	m->slot_count = bigger.slot_count;
	return 0;
}

int map64_put(struct map64 *m, uint64_t key, uint64_t value)
{
	size_t at;

	if (key == EMPTY)
		return -EINVAL;
	if (m->slot_count) {
		at = map64_slot(m, key);
		if (m->slots[at].key == key) {
			m->slots[at].value = value;
			return 0;
		}
	}
	if (m->count >= m->max)
		return -ENOSPC;
	int r = map64_grow(m);
	if (r)
		return r;
	m->slots[map64_slot(m, key)] = (struct map64_slot){key, value};
	m->count++;
	return 0;
}

int map64_get(const struct map64 *m, uint64_t key, uint64_t *ret_value)
{
	size_t at;

	if (!m->slot_count || key == EMPTY)
		return -ENOENT;
	at = map64_slot(m, key);
	if (m->slots[at].key != key)
		return -ENOENT;
	*ret_value = m->slots[at].value;
	return 0;
}

int map64_remove(struct map64 *m, uint64_t key)
{
	size_t mask = m->slot_count - 1, hole, at;

	if (!m->slot_count || key == EMPTY)
		return -ENOENT;
	hole = map64_slot(m, key);
	if (m->slots[hole].key != key)
		return -ENOENT;
	/* Move back what the hole would hide from home (Knuth 6.4, algorithm R): no tombstones. */
	for (at = (hole + 1) & mask; m->slots[at].key != EMPTY; at = (at + 1) & mask) {
		size_t home = hash_u64(m->slots[at].key) & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			m->slots[hole] = m->slots[at];
			hole = at;
		}
	}
	m->slots[hole].key = EMPTY;
	m->count--;
	return 0;
}

size_t map64_count(const struct map64 *m)
{
	return m->count;
}

void map64_each(const struct map64 *m, void (*f)(uint64_t key, uint64_t value, void *arg),
		void *arg)
{
	for (size_t i = 0; i < m->slot_count; i++) {
		if (m->slots[i].key != EMPTY)
			f(m->slots[i].key, m->slots[i].value, arg);
	}
}

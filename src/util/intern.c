/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "util/arena.h"
#include "util/array.h"
#include "util/hash.h"

struct intern_entry {
	const char *data;
	size_t size;
	uint64_t hash;
};

struct intern {
	struct arena *bytes;
	struct intern_entry *entries;
	uint32_t *slots; /* index + 1, 0: empty; linear probing */
	size_t entry_room, slot_count;
	uint32_t count, max;
};

struct intern *intern_new(uint32_t max_entries)
{
	struct intern *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bytes = arena_new(SIZE_MAX);
	if (!t->bytes) {
		free(t);
		return NULL;
	}
	/* UINT32_MAX is left free: index + 1 must fit a slot. */
	t->max = max_entries < UINT32_MAX ? max_entries : UINT32_MAX - 1;
	return t;
}

void intern_free(struct intern *t)
{
	if (!t)
		return;
	arena_free(t->bytes);
	free(t->entries);
	free(t->slots);
	free(t);
}

/* The slot that holds the bytes, or the empty one where they belong. slot_count must not be 0. */
static size_t intern_slot(const struct intern *t, const void *data, size_t size, uint64_t hash)
{
	size_t at = hash & (t->slot_count - 1);

	while (t->slots[at]) {
		const struct intern_entry *e = &t->entries[t->slots[at] - 1];

		if (e->hash == hash && e->size == size && (!size || !memcmp(e->data, data, size)))
			break;
		at = (at + 1) & (t->slot_count - 1);
	}
	return at;
}

static int intern_grow(struct intern *t)
{
	size_t room, at;
	uint32_t *slots;

	if (array_grow(&t->entries, t->count, &t->entry_room, sizeof(*t->entries), 16))
		return -ENOMEM;
	if (((size_t)t->count + 1) * 4 <= t->slot_count * 3)
		return 0;
	room = t->slot_count ? 2 * t->slot_count : 32;
	slots = calloc(room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		at = t->entries[i].hash & (room - 1);
		while (slots[at])
			at = (at + 1) & (room - 1);
		slots[at] = i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_count = room;
	return 0;
}

static bool find_hashed(const struct intern *t, const void *data, size_t size, uint64_t hash,
			uint32_t *ret_index)
{
	size_t at;

	if (!t->slot_count)
		return false;
	at = intern_slot(t, data, size, hash);
	if (!t->slots[at])
		return false;
	*ret_index = t->slots[at] - 1;
	return true;
}

int intern_add(struct intern *t, const void *data, size_t size, uint32_t *ret_index)
{
	uint64_t hash = hash_bytes(data, size);
	char *copy;
	size_t at;

	if (find_hashed(t, data, size, hash, ret_index))
		return 0;
	if (t->count >= t->max)
		return -ENOSPC;
	int r = intern_grow(t);
	if (r)
		return r;
	copy = size < SIZE_MAX ? arena_alloc(t->bytes, size + 1) : NULL;
	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, data, size);
	at = intern_slot(t, data, size, hash);
	t->entries[t->count] = (struct intern_entry){copy, size, hash};
	*ret_index = t->count++;
	t->slots[at] = t->count;
	return 0;
}

int intern_find(const struct intern *t, const void *data, size_t size, uint32_t *ret_index)
{
	return find_hashed(t, data, size, hash_bytes(data, size), ret_index) ? 0 : -ENOENT;
}

const void *intern_get(const struct intern *t, uint32_t index, size_t *ret_size)
{
	if (index >= t->count)
		return NULL;
	if (ret_size)
		*ret_size = t->entries[index].size;
	return t->entries[index].data;
}

uint32_t intern_count(const struct intern *t)
{
	return t->count;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_reserve(void *array, size_t needed, size_t *room, size_t entry_bytes, size_t first)
{
	size_t more = *room ? *room : first;
	void *entries;

	if (needed <= *room)
		return 0;
	while (more < needed) {
		if (more > SIZE_MAX / 2)
			return -ENOMEM;
		more *= 2;
	}
	memcpy(&entries, array, sizeof(entries));
	/* Entries of no bytes have a place too: to grow to none would free it. */
	entries = reallocarray(entries, more, entry_bytes ? entry_bytes : 1);
	if (!entries)
		return -ENOMEM;
	memcpy(array, &entries, sizeof(entries));
	*room = more;
	return 0;
}

int array_reserve_zeroed(void *array, size_t needed, size_t *room, size_t entry_bytes, size_t first)
{
	size_t before = *room;
	char *entries;
	int r = array_reserve(array, needed, room, entry_bytes, first);

	if (r || *room == before)
		return r;
	memcpy(&entries, array, sizeof(entries));
	memset(entries + before * entry_bytes, 0, (*room - before) * entry_bytes);
	return 0;
}

int array_grow(void *array, size_t count, size_t *room, size_t entry_bytes, size_t first)
{
	return array_reserve(array, count + 1, room, entry_bytes, first);
}

int array_grow_short(void *array, size_t count, size_t entry_bytes)
{
	size_t room = count;

	if (count & (count - 1))
		return 0;
	return array_reserve(array, count + 1, &room, entry_bytes, 1);
}

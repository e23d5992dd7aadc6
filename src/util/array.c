/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int array_grow(void *array, size_t count, size_t *room, size_t entry_bytes, size_t first)
{
	size_t more = *room ? 2 * *room : first;
	void *entries;

	if (count < *room)
		return 0;
	memcpy(&entries, array, sizeof(entries));
	entries = reallocarray(entries, more, entry_bytes);
	if (!entries)
		return -ENOMEM;
	memcpy(array, &entries, sizeof(entries));
	*room = more;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ARRAY_H
#define CULPRIT_UTIL_ARRAY_H

#include <stddef.h>

/*
 * Arrays of malloc's that grow: twice the room each time, first at the beginning. array: where the
 * pointer to the entries is. 0, or -ENOMEM with array and room as they were. The limit on the
 * number of entries is the caller's.
 */

/* Makes room for one more entry than the count that are in use. */
int array_grow(void *array, size_t count, size_t *room, size_t entry_bytes, size_t first);
/* Makes room for as many as needed. */
int array_reserve(void *array, size_t needed, size_t *room, size_t entry_bytes, size_t first);
/* The same; entries that come to be are zeros. */
int array_reserve_zeroed(void *array, size_t needed, size_t *room, size_t entry_bytes,
			 size_t first);
/* As array_grow for a short array that keeps no room: the least power of two for the count. */
int array_grow_short(void *array, size_t count, size_t entry_bytes);

#endif

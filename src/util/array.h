/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ARRAY_H
#define CULPRIT_UTIL_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Arrays on the heap that grow: to first entries at the beginning, then to twice the room each
 * time. array is the address of the pointer to the entries, room the number of entries there is
 * memory for. All return 0, or -ENOMEM with array and room unchanged. The caller limits the number
 * of entries.
 */

/* Makes room for one more entry beside the count entries in use. */
int array_grow(void *array, size_t count, size_t *room, size_t entry_bytes, size_t first);
/* Makes room for at least needed entries. */
int array_reserve(void *array, size_t needed, size_t *room, size_t entry_bytes, size_t first);
/* The same; new entries are zeroed. */
int array_reserve_zeroed(void *array, size_t needed, size_t *room, size_t entry_bytes,
			 size_t first);
/* As array_grow, for a short array whose room is not stored: it is the least power of two that is
 * not below the count. */
int array_grow_short(void *array, size_t count, size_t entry_bytes);

/* qsort(3), also of an array without entries that was never given memory: of a null pointer, qsort
 * promises nothing. */
static inline void array_sort(void *array, size_t count, size_t entry_bytes,
			      int (*compare)(const void *, const void *))
{
	if (count)
		qsort(array, count, entry_bytes, compare);
}

#endif

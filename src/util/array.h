/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ARRAY_H
#define CULPRIT_UTIL_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one more entry in an array of malloc's, of which count are in use: twice the room
 * each time, first at the beginning. array: where the pointer to the entries is. 0, or -ENOMEM with
 * array and room as they were.
 */
int array_grow(void *array, size_t count, size_t *room, size_t entry_bytes, size_t first);

#endif

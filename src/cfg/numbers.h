/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_NUMBERS_H
#define CULPRIT_CFG_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include "util/arena.h"

/* An array of count numbers, all equal to value, in the arena. NULL when out of memory, but not for
 * a count of 0. */
static inline uint32_t *numbers_new(struct arena *memory, size_t count, uint32_t value)
{
	uint32_t *numbers = arena_alloc(memory, (count + 1) * sizeof(*numbers));

	for (size_t i = 0; numbers && value && i < count; i++)
		numbers[i] = value;
	return numbers;
}

#endif

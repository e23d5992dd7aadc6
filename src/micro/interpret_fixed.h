/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_FIXED_H
#define CULPRIT_MICRO_INTERPRET_FIXED_H

/*
 * The limits of windows that run in an interrupt, and their overlay, which consists of sets of two
 * words. A window that needs a third word in a set ends.
 */
#define INTERPRET_FIXED_SETS	256
#define INTERPRET_FIXED_WORDS	(2 * INTERPRET_FIXED_SETS)
#define INTERPRET_FIXED_TURNS	256
#define INTERPRET_FIXED_REPEATS 64

#include "interpret_state.h"

/* As host_place(). The high part of a word's number is mixed in so that the frames of a deep stack
 * do not share sets. */
static inline wire_u32 interpret_fixed_place(const struct interpret *s, const wire_u64 *tags,
					     wire_u64 word, wire_u32 *ret_free)
{
	wire_u32 first = ((word ^ word >> 8) & (INTERPRET_FIXED_SETS - 1)) * 2;
	wire_u64 tag = interpret_tag(s, word), tag0 = tags[first], tag1 = tags[first + 1];

	*ret_free = interpret_is_free(s, tag0)	 ? first
		    : interpret_is_free(s, tag1) ? first + 1
						 : INTERPRET_NO_PLACE;
	return tag0 == tag ? first : tag1 == tag ? first + 1 : INTERPRET_NO_PLACE;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_SEARCH_H
#define CULPRIT_UTIL_SEARCH_H

#include <stddef.h>

/*
 * Binary search: the index of the first of count entries for which the condition holds, or count
 * where it holds for none. It must hold for every entry after one for which it holds; i is the name
 * of the index in it. A macro, so that the condition stands where it is used and needs no callback:
 *
 *     SEARCH_FIRST(list->count, i, list->at[i].start > address)
 */
#define SEARCH_FIRST(count, i, condition)                     \
	({                                                    \
		size_t low_ = 0, high_ = (count);             \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (condition)                        \
				high_ = i;                    \
			else                                  \
				low_ = i + 1;                 \
		}                                             \
		low_;                                         \
	})

#endif

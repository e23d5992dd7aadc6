/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_ROUTES_H
#define CULPRIT_CFG_ROUTES_H

#include "cfg/table_search.h"

/*
 * Where a jump's target is read from. If bytes is 1, the target is base. Otherwise there is a table
 * of entries of 4 bytes (sign-extended and added to base) or 8 bytes, at scale * i + offset for i
 * from low to high.
 */
struct table_shape {
	uint64_t base, scale, offset, low, high;
	unsigned bytes;
	uint8_t strength; /* enum strength, of low and high */
};

#define TABLE_SHAPES_MAX 4

/*
 * Finds the tables that the jump at the end of the block may use. On each path to it a comparison
 * must bound the index. Returns their number, 0 if no path was understood; *ret_complete is false
 * if some path was not.
 */
unsigned table_find_shapes(struct table_search *t, struct build_jump *jump, uint32_t block,
			   struct table_shape shapes[TABLE_SHAPES_MAX], bool *ret_complete);

#endif

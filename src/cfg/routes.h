/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_ROUTES_H
#define CULPRIT_CFG_ROUTES_H

#include "cfg/table_search.h"

/*
 * What a jump's target is read from. bytes 1: it is base itself. Else entries of bytes bytes (4:
 * sign-extended, added to base; 8) at scale * i + offset, for i from low to high.
 */
struct table_shape {
	uint64_t base, scale, offset, low, high;
	unsigned bytes;
	uint8_t strength; /* enum strength of the bounds */
};

#define TABLE_SHAPES_MAX 4

/*
 * The tables that the jump at the end of the block may use: on each way to it a comparison must
 * bound the index. Returns their number, 0: not understood. complete false: some way to the jump
 * was not understood.
 */
unsigned table_find_shapes(struct table_search *t, struct build_jump *jump, uint32_t block,
			   struct table_shape shapes[TABLE_SHAPES_MAX], bool *ret_complete);

#endif

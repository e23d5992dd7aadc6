/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_TABLES_H
#define CULPRIT_CFG_TABLES_H

#include "cfg/build.h"
#include "isa/operands.h"

/* The search for the targets of one function's indirect jumps; tables.c, paths.c and stack.c. */
struct table_search {
	struct cfg_builder *b;
	const struct cfg_function *f; /* the graph so far */
	uint16_t
		*writes; /* of each instruction: the general registers that it writes, a bit each */
	bool *entry_height; /* of each block: at its end the stack is as the caller left it */
	uint32_t *visited;  /* of each block: the number of the walk that saw it last */
	uint32_t walk;
	uint8_t *constant; /* of each block and register: whether it is constant at its start */
	struct map64 *constants; /* and what it is */
	uint8_t *starts; /* a bit for each byte of the place: an instruction of the linear sweep */
	uint32_t *work;	 /* room for each block */
	size_t budget;	 /* instructions that may still be looked at */
	struct symbolic *symbolic;
};

/* An instruction of the graph with its operands. */
bool table_decode(const struct table_search *t, uint32_t index, struct isa_instruction *ret,
		  struct isa_operands *ret_operands);

/* True: the stack pointer is what it was at the entry when the block ends. (stack.c) */
int table_at_entry_height(struct table_search *t, uint32_t block, bool *ret);

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
 * was not understood. (paths.c)
 */
unsigned table_find_shapes(struct table_search *t, struct build_jump *jump, uint32_t block,
			   struct table_shape shapes[TABLE_SHAPES_MAX], bool *ret_complete);

#endif

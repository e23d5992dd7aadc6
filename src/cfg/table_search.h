/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_TABLE_SEARCH_H
#define CULPRIT_CFG_TABLE_SEARCH_H

#include "cfg/build.h"
#include "cfg/symbolic_values.h"
#include "isa/operands.h"

/* The search for targets of indirect jumps, as shared by tables.c, routes.c and stack.c. */
struct table_search {
	struct cfg_builder *b;
	const struct cfg_function *f; /* the graph so far */
	uint16_t *writes; /* for each instruction: a mask of the general registers that it writes */
	bool *entry_height; /* for each block: whether its end has the entry's stack height */
	uint32_t *visited;  /* for each block: the number of the last walk that saw it */
	uint32_t walk;
	uint8_t *constant; /* for each block and register: whether it is constant at the start */
	struct map64 *constants; /* the values of these */
	uint8_t *starts; /* a bit per byte of the place: starts of a linear sweep's instructions */
	uint32_t *work;	 /* scratch, one entry per block */
	size_t budget;	 /* instructions that may yet be examined */
	struct symbolic *symbolic;
};

/* t->b and t->f must be set. 0 or -ENOMEM; table_search_end() must be called in either case. */
int table_search_start(struct table_search *t);
void table_search_end(struct table_search *t);
/* Decodes an instruction of the graph with its operands. */
bool table_decode(const struct table_search *t, uint32_t index, struct isa_instruction *ret,
		  struct isa_operands *ret_operands);

#endif

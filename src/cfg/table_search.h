/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_TABLE_SEARCH_H
#define CULPRIT_CFG_TABLE_SEARCH_H

#include "cfg/build.h"
#include "cfg/symbolic_values.h"
#include "isa/operands.h"

/* The search for targets of indirect jumps: what tables.c, routes.c and stack.c share. */
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

/* t->b and t->f are set. 0, -ENOMEM; table_search_end() it in either case. */
int table_search_start(struct table_search *t);
void table_search_end(struct table_search *t);
/* An instruction of the graph with its operands. */
bool table_decode(const struct table_search *t, uint32_t index, struct isa_instruction *ret,
		  struct isa_operands *ret_operands);

#endif

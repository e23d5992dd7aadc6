/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_FLOW_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_FLOW_H

#include "analyze/culprits/culprits.h"

/* Where values come from, for the rules of culprits: looks back over a few instructions, along the
 * path most often taken. */

#define CULPRIT_NOBODY UINT32_MAX

/* A walk backwards from an instruction, which it does not visit itself. */
struct culprit_walk {
	const struct culprit_view *view;
	uint32_t at, block, left;
};
void culprit_walk_begin(struct culprit_walk *w, const struct culprit_view *v, uint32_t at);
/* The instruction before, or CULPRIT_NOBODY at the function's entry or after LOOK_BACK. */
uint32_t culprit_walk_back(struct culprit_walk *w);

/* The block that has an instruction. */
uint32_t culprit_block_of(const struct culprit_view *v, uint32_t at);

/* The memory operand that is read or written (ISA_ACCESS_READS or _WRITES); NULL: none. */
const struct isa_operand *culprit_memory(const struct isa_operands *o, unsigned access);

bool culprit_writes_register(const struct isa_operands *o, unsigned reg);
/* The last instruction before `at`, on the main path, to write the register; or CULPRIT_NOBODY. */
uint32_t culprit_find_writer(const struct culprit_view *v, uint32_t at, unsigned reg);

/* How an address moves from one execution of its instruction to the next. */
enum culprit_motion {
	CULPRIT_MOTION_UNKNOWN,
	CULPRIT_MOTION_FIXED,  /* the same address, or on the stack */
	CULPRIT_MOTION_STRIDE, /* by a constant number of bytes */
};
enum culprit_motion culprit_find_motion(const struct culprit_view *v, uint32_t at,
					const struct isa_operand *memory, int64_t *ret_stride);

/*
 * The store, shortly before a load, whose data the load needs but which is narrower or misaligned
 * with it, so that it cannot be forwarded: its index, or CULPRIT_NOBODY. ret_fresh: some store
 * shortly before wrote to what is read, so that it is in the first cache.
 */
uint32_t culprit_find_blocked_store(const struct culprit_view *v, uint32_t at,
				    const struct isa_operand *load, bool *ret_fresh);

#endif

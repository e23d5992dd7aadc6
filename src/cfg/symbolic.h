/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SYMBOLIC_H
#define CULPRIT_CFG_SYMBOLIC_H

#include "cfg/symbolic_values.h"

/*
 * Execution of a path of instructions over symbols, just enough to see what an indirect jump's
 * target is computed from and what comparisons on the path say of it.
 */

/* One instruction that is not a branch, or a call. */
void symbolic_step(struct symbolic *s, const struct isa_instruction *in,
		   const struct isa_operands *o);
/* The path goes on at the target of the conditional branch, or does not. */
void symbolic_branch(struct symbolic *s, unsigned condition, bool taken);

#endif

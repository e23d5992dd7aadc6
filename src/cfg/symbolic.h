/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SYMBOLIC_H
#define CULPRIT_CFG_SYMBOLIC_H

#include "cfg/symbolic_values.h"

/*
 * Symbolic execution of a path of instructions, just enough to see how an indirect jump's target is
 * computed and what comparisons on the path say of it.
 */

/* Executes an instruction that is not a branch, or a call. */
void symbolic_step(struct symbolic *s, const struct isa_instruction *in,
		   const struct isa_operands *o);
/* The path continues at the target of a conditional branch (taken) or after the branch. */
void symbolic_branch(struct symbolic *s, unsigned condition, bool taken);

#endif

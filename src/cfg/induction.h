/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_INDUCTION_H
#define CULPRIT_CFG_INDUCTION_H

#include "cfg/equivalence.h"
#include "cfg/cfg.h"
#include "cfg/loops.h"

/*
 * The induction registers of a leaf loop: those to which each iteration adds a constant, or a
 * register that does not change in the loop. The contents of such a register at two moments of one
 * activation of the loop give the exact number of iterations between them.
 *
 * A leaf loop has one entry, no inner loop, no call and no change of the stack pointer. A register
 * is an induction register if exactly one instruction of the loop writes it, and that one is
 * executed once per iteration.
 */

#define CFG_GENERAL_REGISTERS 16

enum cfg_change {
	CFG_CHANGE_ANY,
	CFG_CHANGE_NONE,     /* nothing in the loop writes it */
	CFG_CHANGE_CONSTANT, /* by step */
	CFG_CHANGE_REGISTER, /* by step times register by, which does not change */
};

struct cfg_induction {
	struct cfg_register_change {
		uint8_t how; /* enum cfg_change */
		uint8_t by;  /* general register, numbered as in isa/operands.h */
		int64_t step;
	} registers[CFG_GENERAL_REGISTERS];
	uint32_t count; /* of CFG_CHANGE_CONSTANT and CFG_CHANGE_REGISTER */
};

/* Finds the induction registers of a loop. l and e are the loops and classes of f. False if it is
 * not a leaf loop or has no such register. */
bool cfg_induction_find(const struct cfg_function *f, const struct cfg_loops *l,
			const struct cfg_equivalence *e, uint32_t loop, struct cfg_induction *ret);

#endif

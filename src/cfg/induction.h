/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_INDUCTION_H
#define CULPRIT_CFG_INDUCTION_H

#include "cfg/equivalence.h"
#include "cfg/cfg.h"
#include "cfg/loops.h"

/*
 * The induction registers of a leaf loop: those to which each iteration adds a constant, or a
 * register that the loop leaves alone. What such a register has at two moments of one activation of
 * the loop tells the iterations in between, exactly.
 *
 * A leaf loop has one entry, no loop inside, no call and no change of the stack pointer; a register
 * is an induction register when one instruction alone of the loop writes it, and that runs once in
 * each iteration.
 */

#define CFG_GENERAL_REGISTERS 16

enum cfg_change {
	CFG_CHANGE_ANY,
	CFG_CHANGE_NONE,     /* nothing in the loop writes it */
	CFG_CHANGE_CONSTANT, /* by step */
	CFG_CHANGE_REGISTER, /* by step times what the register `by` has, which does not change */
};

struct cfg_induction {
	struct cfg_register_change {
		uint8_t how; /* enum cfg_change */
		uint8_t by;  /* general register, as isa/operands.h numbers them */
		int64_t step;
	} registers[CFG_GENERAL_REGISTERS];
	uint32_t count; /* of CFG_CHANGE_CONSTANT and CFG_CHANGE_REGISTER */
};

/* The loop's; false: it is no leaf loop, or has none. l and e: the function's. */
bool cfg_induction_find(const struct cfg_function *f, const struct cfg_loops *l,
			const struct cfg_equivalence *e, uint32_t loop, struct cfg_induction *ret);

#endif

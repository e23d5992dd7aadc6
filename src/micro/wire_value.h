/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_WIRE_VALUE_H
#define CULPRIT_MICRO_WIRE_VALUE_H

/* What one interpreted instruction had: its operands, its result, the address of its memory. */
#include "micro/wire_strip.h"

enum wire_value_part {
	WIRE_VALUE_ADDRESS,
	WIRE_VALUE_A,
	WIRE_VALUE_B,
	WIRE_VALUE_RESULT, /* also what was popped, and rax at a return */
	WIRE_VALUE_PARTS,
};

enum wire_value_form {
	WIRE_VALUE_OF_INSTRUCTION,
	WIRE_VALUE_OF_CALL, /* rdi, rsi, rdx, rcx, r8 and r9; at: the function, site: the call */
};

#define WIRE_VALUE_ARGUMENTS 6

struct wire_value {
	struct wire_place at, site;
	wire_u8 op, widths, mode, form; /* the first three as in struct wire_micro */
	wire_u32 registers;		/* likewise */
	wire_u32 known;			/* a bit for each of value */
	wire_u32 unused;
	/* By enum wire_value_part, and from WIRE_VALUE_PARTS on the same of the next time that the
	 * window came to this instruction. */
	wire_u64 value[2 * WIRE_VALUE_PARTS];
};

#endif

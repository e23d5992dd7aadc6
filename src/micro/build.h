/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_BUILD_H
#define CULPRIT_MICRO_BUILD_H

#include <stdbool.h>
#include <Zydis/Zydis.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

/* An instruction while its micro-operation is being built. */
struct micro_build {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	/* The explicit operands, without the mask register of EVEX. */
	const ZydisDecodedOperand *operand[ZYDIS_MAX_OPERAND_COUNT];
	unsigned count;
	struct wire_micro micro;
};

enum micro_field { MICRO_DST, MICRO_A, MICRO_B, MICRO_BASE, MICRO_INDEX };

static inline void micro_set(struct micro_build *m, enum micro_field field, unsigned number)
{
	m->micro.registers = (m->micro.registers & ~(31u << (5 * field))) | number << (5 * field);
}

/* The width of a size of 8, 16, ... 512 bits: log2 of its bytes, 0 to 6. Above 6 for other
 * sizes. */
unsigned micro_log_width(unsigned bits);

void micro_set_widths(struct micro_build *m, unsigned width, unsigned source_width);

/* The micro-operation's number of a register, or -1 if it is of another kind. */
int micro_gpr(ZydisRegister r);
int micro_vector(ZydisRegister r);
int micro_mask(ZydisRegister r);

/* Set operands. They return false for what a micro-operation cannot express. */
bool micro_set_memory(struct micro_build *m, const ZydisDecodedOperand *o);
bool micro_set_operand(struct micro_build *m, enum micro_field field, const ZydisDecodedOperand *o);

/* Build the micro-operation of one kind of instructions each. False if the instruction is of
 * another kind or cannot be expressed; micro then has arbitrary contents. */
bool micro_build_control(struct micro_build *m);
bool micro_build_value(struct micro_build *m);
bool micro_build_vector(struct micro_build *m);

/* Builds the micro-operation of any other instruction: what it writes becomes unknown, or the
 * window ends. */
void micro_build_clobber(struct micro_build *m);

#endif

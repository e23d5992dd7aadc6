/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_BUILD_H
#define CULPRIT_MICRO_BUILD_H

#include <stdbool.h>
#include <Zydis/Zydis.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

/* One instruction on its way to a micro-operation. */
struct micro_build {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	/* The explicit ones without the mask register of EVEX. */
	const ZydisDecodedOperand *operand[ZYDIS_MAX_OPERAND_COUNT];
	unsigned count;
	struct wire_micro micro;
};

enum micro_field { MICRO_DST, MICRO_A, MICRO_B, MICRO_BASE, MICRO_INDEX };

static inline void micro_set(struct micro_build *m, enum micro_field field, unsigned number)
{
	m->micro.registers = (m->micro.registers & ~(31u << (5 * field))) | number << (5 * field);
}

/* The logarithm of a size in bits that is 8, 16, ... 512; else a number above 6. */
unsigned micro_log_width(unsigned bits);

void micro_set_widths(struct micro_build *m, unsigned width, unsigned source_width);

/* Numbers of registers, or -1. */
int micro_gpr(ZydisRegister r);
int micro_vector(ZydisRegister r);
int micro_mask(ZydisRegister r);

/* These return false for what a micro-operation cannot express. */
bool micro_set_memory(struct micro_build *m, const ZydisDecodedOperand *o);
bool micro_set_operand(struct micro_build *m, enum micro_field field, const ZydisDecodedOperand *o);

/* The kinds of instructions. False: not among them, or not expressible; micro is then spoilt. */
bool micro_build_control(struct micro_build *m);
bool micro_build_value(struct micro_build *m);
bool micro_build_vector(struct micro_build *m);

/* The rest: what it writes becomes unknown, or the window ends. */
void micro_build_clobber(struct micro_build *m);

#endif

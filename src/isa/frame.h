/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_FRAME_H
#define CULPRIT_ISA_FRAME_H

#include <stdint.h>
#include "isa/operands.h"

/*
 * What an instruction does to the frame of its function: to the stack pointer, to registers and
 * stack words that may hold its value or the frame pointer's, and to the flow of control. All other
 * effects are ISA_FRAME_NONE, so that a sweep over vector code is cheap.
 */
enum isa_frame_kind {
	ISA_FRAME_NONE,
	ISA_FRAME_BAD,	   /* not an instruction */
	ISA_FRAME_PADDING, /* nop, int3 */
	ISA_FRAME_LOSE,	   /* the registers in mask get unknown values */
	ISA_FRAME_SET,	   /* to = value */
	ISA_FRAME_ADDRESS, /* to = from + value */
	ISA_FRAME_ALIGN,   /* to is rounded down to a multiple of a power of two */
	ISA_FRAME_PUSH,	   /* from: a register or ISA_REG_NONE; value: bytes */
	ISA_FRAME_POP,	   /* to and value, likewise */
	ISA_FRAME_STORE,   /* stores from, a whole register or ISA_REG_NONE, at to + value */
	ISA_FRAME_LOAD,	   /* loads to, a whole register, from from + value */
	ISA_FRAME_LEAVE,   /* stack pointer = frame pointer; pops the latter */
	ISA_FRAME_CALL,	   /* target */
	ISA_FRAME_SYSTEM,  /* enters the kernel and returns */
	ISA_FRAME_JUMP,	   /* to target; ISA_NO_ADDRESS if it is computed */
	ISA_FRAME_BRANCH,  /* to target, or continues */
	ISA_FRAME_RETURN,
	ISA_FRAME_STOP, /* has no successor */
};

struct isa_frame {
	uint8_t kind, size; /* enum isa_frame_kind; of the instruction */
	uint8_t to, from;   /* general registers */
	uint16_t mask;
	int32_t value;
	uint64_t target;
};

/* Decodes the instruction at the start of code; size must not be 0. x86-64 only. */
void isa_frame_decode(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      uint64_t address, struct isa_frame *ret);

#endif

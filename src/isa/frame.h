/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_FRAME_H
#define CULPRIT_ISA_FRAME_H

#include <stdint.h>
#include "isa/operands.h"

/*
 * What an instruction does to the frame of its function: to the stack pointer, to registers and
 * words of the stack that may hold its value or the frame pointer's, and to the flow of control.
 * All else an instruction does is nothing here, so that a sweep over vector code is cheap.
 */
enum isa_frame_kind {
	ISA_FRAME_NONE,
	ISA_FRAME_BAD,	   /* no instruction */
	ISA_FRAME_PADDING, /* nop, int3 */
	ISA_FRAME_LOSE,	   /* the registers in mask have other values now */
	ISA_FRAME_SET,	   /* to = value */
	ISA_FRAME_ADDRESS, /* to = from + value */
	ISA_FRAME_ALIGN,   /* to is rounded down to a power of two */
	ISA_FRAME_PUSH,	   /* from, a register or ISA_REG_NONE; value: bytes */
	ISA_FRAME_POP,	   /* to, the same */
	ISA_FRAME_STORE,   /* from, a whole register, or ISA_REG_NONE, at to + value */
	ISA_FRAME_LOAD,	   /* to, a whole register, from from + value */
	ISA_FRAME_LEAVE,   /* the stack pointer is the frame pointer; pops that */
	ISA_FRAME_CALL,	   /* target */
	ISA_FRAME_SYSTEM,  /* into the kernel and back */
	ISA_FRAME_JUMP,	   /* target; ISA_NO_ADDRESS: it is computed */
	ISA_FRAME_BRANCH,  /* target, or goes on */
	ISA_FRAME_RETURN,
	ISA_FRAME_STOP, /* goes nowhere */
};

struct isa_frame {
	uint8_t kind, size; /* enum isa_frame_kind; of the instruction */
	uint8_t to, from;   /* general registers */
	uint16_t mask;
	int32_t value;
	uint64_t target;
};

/* Of the instruction at the start of code; size must not be 0. x86-64 only. */
void isa_frame_decode(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      uint64_t address, struct isa_frame *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_CODE_STATE_H
#define CULPRIT_UNWIND_CODE_STATE_H

#include <stdbool.h>
#include "bpf/wire_stacks.h"
#include "isa/frame.h"

/*
 * What is known before an instruction of how registers and words of the stack relate to the frame:
 * for code_frames.h, which follows it along the flow of control. A value is a base and a distance
 * from it; anything not known to be one of these is unknown.
 */
enum code_base {
	CODE_UNKNOWN,
	CODE_CFA,     /* the stack pointer before the call that came here */
	CODE_FRAME,   /* the caller's frame pointer */
	CODE_NUMBER,  /* 0 */
	CODE_OTHER,   /* the stack pointer as it was when given another stack */
	CODE_ALIGNED, /* + n: what the nth rounding down of the stack pointer gave */
};

struct code_value {
	uint32_t base; /* enum code_base */
	int32_t offset;
};

#define CODE_WORDS 8 /* of the stack that are tracked */

struct code_state {
	struct code_value reg[16]; /* in the order of enum isa_register */
	struct {
		struct code_value place, value; /* sorted by place; those not used are 0 */
	} word[CODE_WORDS];
	uint32_t outermost; /* there is no caller */
	uint32_t switched;  /* on another stack; the number of the rule for it */
};

/* An instruction, as isa_frame_decode gives it, within a piece of code. */
struct code_step {
	uint32_t at;	    /* from the start of the piece */
	uint8_t kind, size; /* enum isa_frame_kind */
	uint8_t to, from;
	int32_t value; /* the same; of LOSE the mask; of CALL, JUMP and BRANCH the
			  target, like at, or CODE_OUTSIDE */
};

#define CODE_OUTSIDE (-1)

/* At a function's first instruction, or at that of the whole program. */
void code_state_enter(struct code_state *s, bool outermost);
/* Steps past an instruction. number: for CODE_ALIGNED, should it round the stack pointer down. */
void code_state_apply(struct code_state *s, const struct code_step *step, uint32_t number);
/* Keeps what holds in both. */
void code_state_merge(struct code_state *s, const struct code_state *other);
/* The rule that finds the caller's frame; that of none if it is not known. */
void code_state_rule(const struct code_state *s, struct wire_unwind_rule *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_CAPTURE_H
#define CULPRIT_MICRO_INTERPRET_CAPTURE_H

/* For hosts that want the values of instructions: to be included after interpret.h. */
#include "interpret_state.h"
#include "micro/wire_value.h"

/*
 * Notes what the instruction that was interpreted last had, in the four values from first on. What
 * is left over from an earlier instruction is not known.
 */
static inline wire_u32 interpret_parts(const struct interpret *s, wire_u64 *values)
{
	const struct wire_micro *m = &s->micro;
	wire_u32 known = 0, memory = MICRO_A_MEMORY | MICRO_B_MEMORY | MICRO_TO_MEMORY;
	int is_value = m->op >= MICRO_VALUE_FIRST && m->op < MICRO_V_FIRST;

	values[WIRE_VALUE_ADDRESS] = s->address;
	values[WIRE_VALUE_A] = s->a;
	values[WIRE_VALUE_B] = s->b;
	values[WIRE_VALUE_RESULT] = s->result;
	if (is_value || m->op == MICRO_PUSH || m->op == MICRO_JUMP_TO || m->op == MICRO_CALL_TO) {
		if (m->mode & memory && s->address_known)
			known |= 1 << WIRE_VALUE_ADDRESS;
		if (is_value && s->a_known)
			known |= 1 << WIRE_VALUE_A;
		if (s->b_known)
			known |= 1 << WIRE_VALUE_B;
	}
	if (is_value) {
		if (s->result_known && m->op != MICRO_DIVIDE && m->op != MICRO_DIVIDE_SIGNED &&
		    m->op != MICRO_CARRY)
			known |= 1 << WIRE_VALUE_RESULT;
	} else if (m->op >= MICRO_V_FIRST) {
		if (m->mode & (MICRO_B_MEMORY | MICRO_TO_MEMORY) && s->address_known)
			known |= 1 << WIRE_VALUE_ADDRESS;
	} else if (m->op == MICRO_POP || m->op == MICRO_RETURN) {
		wire_u32 n = m->op == MICRO_POP ? micro_dst(m) : 0;

		values[WIRE_VALUE_RESULT] = s->reg[n];
		known |= interpret_is_known(s, n) << WIRE_VALUE_RESULT;
	}
	return known;
}

static inline void interpret_capture(const struct interpret *s, struct wire_place at,
				     struct wire_value *v)
{
	v->at = at;
	v->site.slot = v->site.offset = 0;
	v->op = s->micro.op;
	v->widths = s->micro.widths;
	v->mode = s->micro.mode;
	v->form = WIRE_VALUE_OF_INSTRUCTION;
	v->registers = s->micro.registers;
	v->unused = 0;
	v->known = interpret_parts(s, v->value);
}

/* The instruction came again. */
static inline void interpret_capture_next(const struct interpret *s, struct wire_value *v)
{
	v->known |= interpret_parts(s, v->value + WIRE_VALUE_PARTS) << WIRE_VALUE_PARTS;
}

/* After a call: the arguments that registers hold. */
static inline void interpret_capture_call(const struct interpret *s, struct wire_place site,
					  struct wire_value *v)
{
	v->at = interpret_place(s);
	v->site = site;
	v->op = s->micro.op;
	v->widths = v->mode = 0;
	v->form = WIRE_VALUE_OF_CALL;
	v->registers = v->unused = 0;
	v->value[0] = s->reg[7];
	v->value[1] = s->reg[6];
	v->value[2] = s->reg[2];
	v->value[3] = s->reg[1];
	v->value[4] = s->reg[8];
	v->value[5] = s->reg[9];
	v->known = interpret_is_known(s, 7) | interpret_is_known(s, 6) << 1 |
		   interpret_is_known(s, 2) << 2 | interpret_is_known(s, 1) << 3 |
		   interpret_is_known(s, 8) << 4 | interpret_is_known(s, 9) << 5;
}

#endif

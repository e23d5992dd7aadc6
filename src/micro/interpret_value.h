/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_VALUE_H
#define CULPRIT_MICRO_INTERPRET_VALUE_H

/* Part of interpret.h: one operation on integers, from operands to result. */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

/* Addition, subtraction, logic and moves. */
INTERPRET_FUNCTION int interpret_simple(struct interpret *s)
{
	if (!s)
		return 0;

	wire_u32 op = s->micro.op, width = micro_width(&s->micro), known = s->a_known & s->b_known;
	wire_u64 a = s->a, b = s->b, r, carry = 0;
	struct interpret_flags f = {0, 0, 0};

	if (op == MICRO_ADC || op == MICRO_SBB) {
		carry = (s->flags & FLAG_CARRY) != 0;
		known &= (s->flags_known & FLAG_CARRY) != 0;
	}
	switch (op) {
	case MICRO_MOVE:
		r = b;
		known = s->b_known;
		break;
	case MICRO_MOVE_SIGNED: {
		wire_u32 unused = 64 - (8u << (micro_source_width(&s->micro) & 3));

		r = (wire_u64)((long long)(b << unused) >> unused);
		known = s->b_known;
		break;
	}
	case MICRO_ADDRESS:
		r = s->address;
		known = s->address_known;
		break;
	case MICRO_ADD:
	case MICRO_ADC:
		r = a + b + carry;
		f = interpret_sum_flags(a, b, r, width, 0);
		break;
	case MICRO_SUB:
	case MICRO_SBB:
		r = a - b - carry;
		f = interpret_sum_flags(a, b, r, width, 1);
		break;
	case MICRO_INC:
		known = s->a_known;
		r = a + 1;
		f = interpret_sum_flags(a, 1, r, width, 0);
		f.change &= ~FLAG_CARRY;
		break;
	case MICRO_DEC:
		known = s->a_known;
		r = a - 1;
		f = interpret_sum_flags(a, 1, r, width, 1);
		f.change &= ~FLAG_CARRY;
		break;
	case MICRO_NEG:
		known = s->a_known;
		r = 0 - a;
		f = interpret_sum_flags(0, a, r, width, 1);
		break;
	case MICRO_NOT:
		known = s->a_known;
		r = ~a;
		break;
	default:
		r = op == MICRO_AND   ? a & b
		    : op == MICRO_OR  ? a | b
		    : op == MICRO_XOR ? a ^ b
				      : ~a & b;
		f.change = FLAGS_ALL;
		f.value = interpret_nzp(r, width);
		if (op == MICRO_ANDN)
			f.undefined = FLAG_PARITY;
		break;
	}
	s->result = r;
	s->result_known = known;
	interpret_set_flags(s, f, known);
	return 0;
}

static inline wire_u64 interpret_swap(wire_u64 x, wire_u32 width)
{
	x = __builtin_bswap64(x);
	return x >> (64 - (8u << (width & 3)));
}

/* xchg, xadd, cmpxchg: everything but writing the result. */
static inline void interpret_exchange(struct interpret *s, wire_u32 width)
{
	wire_u32 op = s->micro.op, b = micro_b(&s->micro);

	s->result = s->b;
	s->result_known = s->b_known;
	if (op == MICRO_EXCHANGE) {
		interpret_set_register(s, b, width, s->a, s->a_known);
		return;
	}
	if (op == MICRO_EXCHANGE_ADD) {
		s->result = s->a + s->b;
		s->result_known = s->a_known & s->b_known;
		interpret_set_register(s, b, width, s->a, s->a_known);
		interpret_set_flags(s, interpret_sum_flags(s->a, s->b, s->result, width, 0),
				    s->result_known);
		return;
	}

	wire_u64 old = s->reg[0] & interpret_mask(width);
	wire_u32 known = s->a_known & interpret_is_known(s, 0);

	interpret_set_flags(s, interpret_sum_flags(old, s->a, old - s->a, width, 1), known);
	if (!known) {
		s->result_known = 0;
		interpret_set_known(s, 0, 0);
	} else if (old != s->a) {
		s->result = s->a;
		interpret_set_register(s, 0, width, s->a, 1);
	}
}

/* Operations that depend on a condition, and all others. */
INTERPRET_FUNCTION int interpret_other(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), bits = 8u << (width & 3), count = s->b & (bits - 1), holds;
	struct interpret_flags f = {FLAG_CARRY, 0, 0};

	s->result_known = s->a_known & s->b_known;
	switch (m->op) {
	case MICRO_SHLX:
		s->result = s->a << count;
		break;
	case MICRO_SHRX:
		s->result = s->a >> count;
		break;
	case MICRO_SARX:
		s->result = (wire_u64)((long long)interpret_extend(s->a, width) >> count);
		break;
	case MICRO_RORX:
		s->result = count ? s->a >> count | s->a << (bits - count) : s->a;
		break;
	case MICRO_SWAP_BYTES:
		s->result = interpret_swap(s->b, width);
		s->result_known = s->b_known;
		break;
	case MICRO_SIGN_TO_DX:
		s->result = s->a >> (bits - 1) & 1 ? ~0ull : 0;
		s->result_known = s->a_known;
		break;
	case MICRO_SET:
		holds = interpret_condition(s, m->imm);
		s->result = holds & 1;
		s->result_known = holds != 2;
		break;
	case MICRO_MOVE_IF:
		holds = interpret_condition(s, m->imm);
		s->result = holds ? s->b : s->a;
		s->result_known = holds == 2 ? 0 : holds ? s->b_known : s->a_known;
		break;
	case MICRO_CARRY:
		f.value = s->b == 2 ? ~s->flags & FLAG_CARRY : s->b == 1 ? FLAG_CARRY : 0;
		interpret_set_flags(s, f, s->b != 2 || s->flags_known & FLAG_CARRY);
		break;
	default:
		interpret_exchange(s, width);
		break;
	}
	return 0;
}

/* Writes the result to its destination; returns 0 or an enum wire_end. */
static inline int interpret_write(struct interpret *s)
{
	const struct wire_micro *m = &s->micro;

	if (m->mode & MICRO_TO_NOWHERE)
		return 0;
	if (!(m->mode & MICRO_TO_MEMORY)) {
		interpret_set_register(s, micro_dst(m), micro_width(m), s->result, s->result_known);
		return 0;
	}
	if (!s->address_known)
		return WIRE_END_UNKNOWN;
	return interpret_store(s, s->address, micro_width(m), s->result, s->result_known);
}

/* Executes one operation on integers, from operands to result; returns 0 or an enum wire_end. */
static inline int interpret_value(struct interpret *s)
{
	wire_u32 op = s->micro.op;

	interpret_operands(s);
	if (op <= MICRO_NOT)
		interpret_simple(s);
	else if (op <= MICRO_ROR || op == MICRO_SHLD || op == MICRO_SHRD)
		interpret_shift(s);
	else if (op >= MICRO_MULTIPLY && op <= MICRO_MULTIPLY_WIDE_SIGNED)
		interpret_multiply(s);
	else if (op == MICRO_DIVIDE || op == MICRO_DIVIDE_SIGNED)
		return interpret_divide(s);
	else if (op >= MICRO_BIT_TEST && op <= MICRO_ZERO_HIGH)
		interpret_bits(s);
	else
		interpret_other(s);
	return interpret_write(s);
}

#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_REGISTER_H
#define CULPRIT_MICRO_INTERPRET_REGISTER_H

/* Part of interpret.h: general registers, operands, flags and conditions. */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

/* An operation's effect on the flags. */
struct interpret_flags {
	wire_u32 change; /* flags that it sets to the bits of value */
	wire_u32 value;
	wire_u32 undefined; /* flags that it leaves undefined */
};

#define FLAGS_NZP (FLAG_ZERO | FLAG_SIGN | FLAG_PARITY)

static inline wire_u64 interpret_register(const struct interpret *s, wire_u32 n, wire_u32 width)
{
	if (s->micro.mode & MICRO_HIGH && n >= MICRO_HIGH_BYTE)
		return s->reg[(n - MICRO_HIGH_BYTE) & 3] >> 8 & 0xff;
	return s->reg[n & 31] & interpret_mask(width);
}

static inline wire_u32 interpret_register_known(const struct interpret *s, wire_u32 n)
{
	if (s->micro.mode & MICRO_HIGH && n >= MICRO_HIGH_BYTE)
		n = (n - MICRO_HIGH_BYTE) & 3;
	return interpret_is_known(s, n);
}

/* Writes a register as the processor does: 4 bytes clear the upper half, fewer leave the rest
 * unchanged. */
static inline void interpret_set_register(struct interpret *s, wire_u32 n, wire_u32 width,
					  wire_u64 value, wire_u32 known)
{
	if (width >= 2) {
		s->reg[n & 31] = value & interpret_mask(width);
		interpret_set_known(s, n, known);
		return;
	}

	wire_u32 shift = 0;
	wire_u64 mask = interpret_mask(width);

	if (s->micro.mode & MICRO_HIGH && n >= MICRO_HIGH_BYTE) {
		n = (n - MICRO_HIGH_BYTE) & 3;
		shift = 8;
	}
	s->reg[n & 31] = (s->reg[n & 31] & ~(mask << shift)) | (value & mask) << shift;
	interpret_set_known(s, n, interpret_is_known(s, n) & known);
}

/* Fetches the operands: sets a, b and the memory operand's address. */
INTERPRET_FUNCTION int interpret_operands(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), source = micro_source_width(m);
	wire_u32 mode = m->mode;

	if (mode & (MICRO_A_MEMORY | MICRO_B_MEMORY | MICRO_TO_MEMORY) || m->op == MICRO_ADDRESS)
		interpret_address(s);
	if (mode & MICRO_A_MEMORY) {
		s->a_known = s->address_known && interpret_load(s, s->address, width);
		s->a = s->value;
	} else {
		s->a = interpret_register(s, micro_a(m), width);
		s->a_known = interpret_register_known(s, micro_a(m));
	}
	if (mode & MICRO_B_MEMORY) {
		s->b_known = s->address_known && interpret_load(s, s->address, source);
		s->b = s->value;
	} else if (mode & MICRO_B_IMM) {
		s->b = interpret_signed(m->imm);
		if (mode & MICRO_WIDE_IMM)
			s->b = (wire_u64)m->disp << 32 | m->imm;
		s->b &= interpret_mask(source);
		s->b_known = 1;
	} else {
		s->b = interpret_register(s, micro_b(m), source);
		s->b_known = interpret_register_known(s, micro_b(m));
	}
	return 0;
}

/* The zero, sign and parity flags of a result. */
static inline wire_u32 interpret_nzp(wire_u64 r, wire_u32 width)
{
	wire_u32 parity = r & 0xff, flags = 0;

	r &= interpret_mask(width);
	parity ^= parity >> 4;
	parity ^= parity >> 2;
	parity ^= parity >> 1;
	if (!(parity & 1))
		flags |= FLAG_PARITY;
	if (r == 0)
		flags |= FLAG_ZERO;
	if (r >> ((8u << (width & 3)) - 1))
		flags |= FLAG_SIGN;
	return flags;
}

/* Whether a condition holds: 1, 0, or 2 if that is unknown. */
static inline wire_u32 interpret_condition(const struct interpret *s, wire_u32 condition)
{
	wire_u32 f = s->flags, needs, holds;
	wire_u32 less = (f & FLAG_SIGN) != 0;

	less ^= (f & FLAG_OVERFLOW) != 0;
	switch (condition >> 1 & 7) {
	case 0:
		needs = FLAG_OVERFLOW;
		holds = (f & FLAG_OVERFLOW) != 0;
		break;
	case 1:
		needs = FLAG_CARRY;
		holds = (f & FLAG_CARRY) != 0;
		break;
	case 2:
		needs = FLAG_ZERO;
		holds = (f & FLAG_ZERO) != 0;
		break;
	case 3:
		needs = FLAG_CARRY | FLAG_ZERO;
		holds = (f & (FLAG_CARRY | FLAG_ZERO)) != 0;
		break;
	case 4:
		needs = FLAG_SIGN;
		holds = (f & FLAG_SIGN) != 0;
		break;
	case 5:
		needs = FLAG_PARITY;
		holds = (f & FLAG_PARITY) != 0;
		break;
	case 6:
		needs = FLAG_SIGN | FLAG_OVERFLOW;
		holds = less;
		break;
	default:
		needs = FLAG_SIGN | FLAG_OVERFLOW | FLAG_ZERO;
		holds = less | ((f & FLAG_ZERO) != 0);
		break;
	}
	if ((s->flags_known & needs) != needs)
		return 2;
	return holds ^ (condition & 1);
}

static inline void interpret_set_flags(struct interpret *s, struct interpret_flags f,
				       wire_u32 known)
{
	s->flags = (s->flags & ~f.change) | (f.value & f.change);
	s->flags_known &= ~(f.change | f.undefined);
	if (known)
		s->flags_known |= f.change & ~f.undefined;
}

/* r = a + b + carry, or a - b - carry */
static inline struct interpret_flags interpret_sum_flags(wire_u64 a, wire_u64 b, wire_u64 r,
							 wire_u32 width, wire_u32 subtract)
{
	wire_u32 top = (8u << (width & 3)) - 1;
	wire_u64 carry, overflow;

	if (subtract) {
		carry = (~a & b) | ((~a | b) & r);
		overflow = (a ^ b) & (a ^ r);
	} else {
		carry = (a & b) | ((a | b) & ~r);
		overflow = (a ^ r) & (b ^ r);
	}

	struct interpret_flags f = {FLAGS_ALL, interpret_nzp(r, width), 0};

	if (carry >> top & 1)
		f.value |= FLAG_CARRY;
	if (overflow >> top & 1)
		f.value |= FLAG_OVERFLOW;
	return f;
}

#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_ARITHMETIC_H
#define CULPRIT_MICRO_INTERPRET_ARITHMETIC_H

/* Part of interpret.h: shifts, products, quotients and bits. */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

/* The count of a double shift, and whether it is known. */
static inline wire_u64 interpret_double_count(struct interpret *s)
{
	if (s->micro.imm & MICRO_BY_CL) {
		s->a_known &= interpret_is_known(s, 1);
		return s->reg[1] & 0xff;
	}
	return s->micro.imm;
}

/* SHLD and SHRD, of 4 or 8 bytes. */
static inline wire_u64 interpret_double_shift(const struct interpret *s, wire_u64 count,
					      wire_u32 bits, wire_u64 *carry)
{
	wire_u64 a = s->a, b = s->b;

	if (s->micro.op == MICRO_SHLD) {
		*carry = a >> (bits - count);
		return a << count | b >> (bits - count);
	}
	*carry = a >> (count - 1);
	return a >> count | b << (bits - count);
}

/* Shifts and rotations that set flags. */
INTERPRET_FUNCTION int interpret_shift(struct interpret *s)
{
	if (!s)
		return 0;

	wire_u32 op = s->micro.op, width = micro_width(&s->micro), bits = 8u << (width & 3);
	wire_u64 a = s->a, r, carry = 0, top;
	wire_u64 count = op == MICRO_SHLD || op == MICRO_SHRD ? interpret_double_count(s) : s->b;
	wire_u32 known = s->a_known & s->b_known;

	count &= width == 3 ? 63 : 31;
	s->result = a;
	s->result_known = known;
	if (count == 0 && known)
		return 0; /* no flag changes */
	if (count == 0)
		count = 1; /* for the unknown count */

	struct interpret_flags f = {FLAGS_ALL, 0, count == 1 ? 0 : FLAG_OVERFLOW};

	if (op == MICRO_ROL || op == MICRO_ROR) {
		count &= bits - 1;
		f.change = FLAG_CARRY | FLAG_OVERFLOW;
		if (op == MICRO_ROR)
			count = (bits - count) & (bits - 1);
		r = count ? a << count | a >> (bits - count) : a;
		r &= interpret_mask(width);
		top = r >> (bits - 1) & 1;
		carry = op == MICRO_ROL ? r : top;
		if ((op == MICRO_ROL ? top ^ r : top ^ r >> (bits - 2)) & 1)
			f.value |= FLAG_OVERFLOW;
	} else if (op == MICRO_SHLD || op == MICRO_SHRD) {
		r = interpret_double_shift(s, count, bits, &carry);
		f.undefined |= FLAG_OVERFLOW;
	} else if (op == MICRO_SHL) {
		r = count < bits ? a << count : 0;
		carry = count <= bits ? a >> (bits - count) : 0;
		if ((r >> (bits - 1) ^ carry) & 1)
			f.value |= FLAG_OVERFLOW;
	} else if (op == MICRO_SHR) {
		r = count < bits ? a >> count : 0;
		carry = count <= bits ? a >> (count - 1) : 0;
		if (a >> (bits - 1) & 1)
			f.value |= FLAG_OVERFLOW;
	} else {
		long long wide = (long long)(a << (64 - bits)) >> (64 - bits);

		r = (wire_u64)(wide >> count);
		carry = (wire_u64)(wide >> (count - 1));
	}
	if (f.change & FLAG_ZERO)
		f.value |= interpret_nzp(r, width);
	if (carry & 1)
		f.value |= FLAG_CARRY;
	if (op != MICRO_ROL && op != MICRO_ROR && count > bits)
		f.undefined |= FLAG_CARRY;
	s->result = r;
	interpret_set_flags(s, f, known);
	/* Flags that an unknown count may leave unchanged become unknown too. */
	return 0;
}

/* The high half of the 128-bit product of two words. */
static inline wire_u64 interpret_high(wire_u64 a, wire_u64 b)
{
	wire_u64 al = (wire_u32)a, ah = a >> 32, bl = (wire_u32)b, bh = b >> 32;
	wire_u64 low = al * bl, middle = ah * bl + (low >> 32);
	wire_u64 middle2 = al * bh + (wire_u32)middle;

	return ah * bh + (middle >> 32) + (middle2 >> 32);
}

/* Sign-extends from 8 << width bits. */
static inline wire_u64 interpret_extend(wire_u64 a, wire_u32 width)
{
	wire_u32 unused = 64 - (8u << (width & 3));

	return (wire_u64)((long long)(a << unused) >> unused);
}

/* Multiplication; the wide forms write rdx and rax themselves. */
INTERPRET_FUNCTION int interpret_multiply(struct interpret *s)
{
	if (!s)
		return 0;

	wire_u32 op = s->micro.op, width = micro_width(&s->micro);
	wire_u32 known =
		s->b_known & (op == MICRO_MULTIPLY ? s->a_known : interpret_is_known(s, 0));
	wire_u32 is_signed = op != MICRO_MULTIPLY_WIDE, overflow;
	wire_u64 a = op == MICRO_MULTIPLY ? s->a : s->reg[0] & interpret_mask(width), b = s->b;
	wire_u64 r, high;

	if (is_signed) {
		a = interpret_extend(a, width);
		b = interpret_extend(b, width);
	}
	r = a * b;
	if (width == 3) {
		high = interpret_high(a, b);
		if (is_signed)
			high -= (a >> 63 ? b : 0) + (b >> 63 ? a : 0);
		overflow = is_signed ? high != (wire_u64)((long long)r >> 63) : high != 0;
	} else {
		high = r >> (8u << (width & 3));
		overflow = is_signed ? interpret_extend(r, width) != r
				     : (high & interpret_mask(width)) != 0;
	}

	struct interpret_flags f = {FLAG_CARRY | FLAG_OVERFLOW,
				    overflow ? FLAG_CARRY | FLAG_OVERFLOW : 0, FLAGS_NZP};

	interpret_set_flags(s, f, known);
	s->result = r;
	s->result_known = known;
	if (op != MICRO_MULTIPLY && width == 0) {
		interpret_set_register(s, 0, 1, r, known);
	} else if (op != MICRO_MULTIPLY) {
		interpret_set_register(s, 0, width, r, known);
		interpret_set_register(s, 2, width, high, known);
	}
	return 0;
}

/*
 * Divides rdx:rax by b, of 4 or 8 bytes; returns 0 or WIRE_END_FAULT. Dividends of more than 64
 * bits give unknown results.
 */
INTERPRET_FUNCTION int interpret_divide(struct interpret *s)
{
	if (!s)
		return 0;

	wire_u32 width = micro_width(&s->micro), is_signed = s->micro.op == MICRO_DIVIDE_SIGNED;
	wire_u32 known = s->b_known & interpret_is_known(s, 0) & interpret_is_known(s, 2);
	wire_u32 minus_a = 0, minus_b = 0;
	wire_u64 a = s->reg[0], b = s->b, high = s->reg[2], quotient = 0, rest = 0;
	struct interpret_flags f = {0, 0, FLAGS_ALL};

	if (known && b == 0)
		return WIRE_END_FAULT;
	if (width == 2) {
		a = (wire_u32)a | high << 32;
		high = is_signed ? (wire_u64)((long long)a >> 63) : 0;
	}
	if (high != (is_signed ? (wire_u64)((long long)a >> 63) : 0))
		known = 0;
	if (is_signed) {
		b = interpret_extend(b, width);
		minus_a = a >> 63;
		minus_b = b >> 63;
		a = minus_a ? 0 - a : a;
		b = minus_b ? 0 - b : b;
	}
	if (known && b != 0) {
		quotient = a / b;
		rest = a % b;
		/* A quotient that is too large faults; that is left to the program itself. */
		if (quotient > interpret_mask(width) >> is_signed)
			known = 0;
	}
	interpret_set_register(s, 0, width, minus_a ^ minus_b ? 0 - quotient : quotient, known);
	interpret_set_register(s, 2, width, minus_a ? 0 - rest : rest, known);
	interpret_set_flags(s, f, 0);
	return 0;
}

/* The number of zero bits below the lowest bit that is set; 64 for 0. */
static inline wire_u64 interpret_trailing(wire_u64 x)
{
	return interpret_ones(~x & (x - 1));
}

/* The number of the highest bit that is set; x must not be 0. */
static inline wire_u64 interpret_highest(wire_u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return interpret_ones(x) - 1;
}

/* bt, bts, btr, btc */
static inline struct interpret_flags interpret_bit(struct interpret *s, wire_u32 width)
{
	wire_u32 op = s->micro.op;
	wire_u64 bit = 1ull << (s->b & ((8u << (width & 3)) - 1));
	struct interpret_flags f = {FLAG_CARRY, s->a & bit ? FLAG_CARRY : 0,
				    FLAG_OVERFLOW | FLAG_SIGN | FLAG_PARITY};

	s->result = op == MICRO_BIT_SET	    ? s->a | bit
		    : op == MICRO_BIT_RESET ? s->a & ~bit
		    : op == MICRO_BIT_FLIP  ? s->a ^ bit
					    : s->a;
	return f;
}

/* Bit scans and bit counts of b. */
static inline struct interpret_flags interpret_search(struct interpret *s, wire_u32 width)
{
	wire_u32 op = s->micro.op, bits = 8u << (width & 3);
	wire_u64 b = s->b, r;
	struct interpret_flags f = {FLAG_CARRY | FLAG_ZERO, 0,
				    FLAG_OVERFLOW | FLAG_SIGN | FLAG_PARITY};

	if (op == MICRO_COUNT_ONES) {
		r = interpret_ones(b);
		f.change = FLAGS_ALL;
		f.undefined = 0;
		f.value = b == 0 ? FLAG_ZERO : 0;
	} else if (op == MICRO_COUNT_TRAILING || op == MICRO_COUNT_LEADING) {
		if (b == 0)
			r = bits;
		else
			r = op == MICRO_COUNT_TRAILING ? interpret_trailing(b)
						       : bits - 1 - interpret_highest(b);
		f.value = (b == 0 ? FLAG_CARRY : 0) | (r == 0 ? FLAG_ZERO : 0);
	} else {
		r = op == MICRO_SCAN_FORWARD ? interpret_trailing(b) : interpret_highest(b | 1);
		f.undefined |= FLAG_CARRY;
		f.value = b == 0 ? FLAG_ZERO : 0;
		if (b == 0)
			s->result_known = 0;
	}
	s->result = r;
	return f;
}

/* BMI: blsr, blsi, blsmsk, bzhi. */
static inline struct interpret_flags interpret_lowest(struct interpret *s, wire_u32 width)
{
	wire_u32 op = s->micro.op, bits = 8u << (width & 3), carry;
	wire_u64 b = s->b, r;

	if (op == MICRO_LOWEST_RESET) {
		r = b & (b - 1);
		carry = b == 0;
	} else if (op == MICRO_LOWEST_ISOLATE) {
		r = b & (0 - b);
		carry = b != 0;
	} else if (op == MICRO_LOWEST_MASK) {
		r = (b ^ (b - 1)) & interpret_mask(width);
		carry = b == 0;
	} else {
		wire_u64 n = b & 0xff;

		r = n < bits ? s->a & ((1ull << (n & 63)) - 1) : s->a;
		carry = n > bits - 1;
	}

	struct interpret_flags f = {FLAGS_ALL, interpret_nzp(r, width) | (carry ? FLAG_CARRY : 0),
				    FLAG_PARITY};

	s->result = r;
	return f;
}

INTERPRET_FUNCTION int interpret_bits(struct interpret *s)
{
	if (!s)
		return 0;

	wire_u32 op = s->micro.op, width = micro_width(&s->micro), known = s->b_known;
	struct interpret_flags f;

	s->result_known = 1;
	if (op <= MICRO_BIT_FLIP) {
		known &= s->a_known;
		f = interpret_bit(s, width);
	} else if (op <= MICRO_COUNT_ONES) {
		f = interpret_search(s, width);
	} else {
		if (op == MICRO_ZERO_HIGH)
			known &= s->a_known;
		f = interpret_lowest(s, width);
	}
	s->result_known &= known;
	interpret_set_flags(s, f, known);
	return 0;
}

#endif
#endif

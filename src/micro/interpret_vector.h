/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_VECTOR_H
#define CULPRIT_MICRO_INTERPRET_VECTOR_H

/*
 * Part of interpret.h: the vector and mask operations that C libraries' string functions and
 * compilers' string loops use, and scalar comparisons of floating point. Elements are processed a
 * word at a time; top is a word with the highest bit of each element set.
 */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

static inline wire_u64 interpret_tops(wire_u32 element)
{
	return element == 0   ? 0x8080808080808080ull
	       : element == 1 ? 0x8000800080008000ull
	       : element == 2 ? 0x8000000080000000ull
			      : 0x8000000000000000ull;
}

/* The top bits of the elements in which a and b are equal. */
static inline wire_u64 interpret_equal(wire_u64 a, wire_u64 b, wire_u64 top)
{
	wire_u64 x = a ^ b;

	return ~(((x & ~top) + ~top) | x) & top;
}

/* The top bits of the elements in which a >= b, unsigned. */
static inline wire_u64 interpret_not_below(wire_u64 a, wire_u64 b, wire_u64 top)
{
	wire_u64 difference = (a | top) - (b & ~top);

	return ((a & ~b) | (~(a ^ b) & difference)) & top;
}

/* Spreads each top bit over its whole element. */
static inline wire_u64 interpret_spread(wire_u64 tops, wire_u32 element)
{
	wire_u32 bits = 8u << (element & 3);

	return (tops >> (bits - 1)) * interpret_mask(element);
}

/* Spreads a bit per element over the whole elements of a word. */
static inline wire_u64 interpret_scatter(wire_u64 bits, wire_u32 element)
{
	if (element == 0) {
		bits = (bits & 0xff) * 0x0101010101010101ull & 0x8040201008040201ull;
		return interpret_spread(
			~interpret_equal(bits, 0, interpret_tops(0)) & interpret_tops(0), 0);
	}
	if (element == 1)
		return interpret_spread((bits & 1) << 15 | (bits & 2) << 30 | (bits & 4) << 45 |
						(bits & 8) << 60,
					1);
	if (element == 2)
		return interpret_spread((bits & 1) << 31 | (bits & 2) << 62, 2);
	return bits & 1 ? ~0ull : 0;
}

/* Gathers the top bits in the low bits. */
static inline wire_u64 interpret_gather(wire_u64 tops, wire_u32 element)
{
	if (element == 0)
		return (tops >> 7) * 0x0102040810204080ull >> 56;
	if (element == 1)
		return (tops >> 15 & 1) | (tops >> 30 & 2) | (tops >> 45 & 4) | (tops >> 60 & 8);
	if (element == 2)
		return (tops >> 31 & 1) | (tops >> 62 & 2);
	return tops >> 63;
}

static inline wire_u64 interpret_ternary(wire_u64 a, wire_u64 b, wire_u64 c, wire_u32 table)
{
	wire_u64 r = 0;

	for (wire_u32 i = 0; i < 8; i++)
		if (table >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return r;
}

/* The number of words in a vector of a width. */
static inline wire_u32 interpret_words(wire_u32 width)
{
	return width <= 3 ? 1 : width == 4 ? 2 : width == 5 ? 4 : 8;
}

/* A bit for each of its bytes. */
static inline wire_u64 interpret_bytes(wire_u32 width)
{
	return width >= 6 ? ~0ull : (1ull << (1u << width)) - 1;
}

/* Marks the bytes of a result that is written as a whole; those above it become zero, or stay. */
static inline void interpret_set_vector_known(struct interpret *s, wire_u32 n, wire_u32 width,
					      wire_u32 known)
{
	wire_u64 bytes = interpret_bytes(width), upper = ~bytes;

	if (s->micro.mode & MICRO_KEEP_UPPER)
		upper &= 0xffff;
	s->vector_known[n] = (s->vector_known[n] & ~bytes) | upper | (known ? bytes : 0);
}

static inline wire_u32 interpret_all_known(wire_u64 known, wire_u32 width)
{
	wire_u64 bytes = interpret_bytes(width);

	return (known & bytes) == bytes;
}

/* Clears or keeps the bytes above the words that were written. */
static inline void interpret_clear_upper(struct interpret *s, wire_u32 n, wire_u32 words)
{
	wire_u32 end = s->micro.mode & MICRO_KEEP_UPPER ? 2 : 8;

	for (wire_u32 i = 0; i < 8; i++)
		if (i >= words && i < end)
			s->vector[n & 31][i] = 0;
}

/* Fetches the second operand into wide. */
INTERPRET_FUNCTION int interpret_wide_operand(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), n = micro_b(m);

	if (m->mode & (MICRO_B_MEMORY | MICRO_TO_MEMORY))
		interpret_address(s);
	if (m->mode & MICRO_B_MEMORY) {
		if (m->op == MICRO_V_BROADCAST || m->op == MICRO_V_PAIR)
			width = micro_source_width(m);
		s->wide_known =
			s->address_known && interpret_load_wide(s, s->address, width) ? ~0ull : 0;
		return 0;
	}
	for (wire_u32 i = 0; i < 8; i++)
		s->wide[i] = s->vector[n][i];
	s->wide_known = s->vector_known[n];
	return 0;
}

/* One word of an operation on elements: a OP b. */
static inline wire_u64 interpret_word_of(struct interpret *s, wire_u64 a, wire_u64 b, wire_u64 old)
{
	wire_u32 element = micro_source_width(&s->micro);
	wire_u64 top = interpret_tops(element), x;

	switch (s->micro.op) {
	case MICRO_V_MOVE:
		return b;
	case MICRO_V_AND:
		return a & b;
	case MICRO_V_ANDN:
		return ~a & b;
	case MICRO_V_OR:
		return a | b;
	case MICRO_V_XOR:
		return a ^ b;
	case MICRO_V_TERNARY:
		return interpret_ternary(old, a, b, s->micro.imm);
	case MICRO_V_EQUAL:
		return interpret_spread(interpret_equal(a, b, top), element);
	case MICRO_V_GREATER:
		x = interpret_not_below(b ^ top, a ^ top, top);
		return interpret_spread(~x & top, element);
	case MICRO_V_MIN:
		x = interpret_spread(interpret_not_below(a, b, top), element);
		return (b & x) | (a & ~x);
	default: /* MICRO_V_SUB */
		return ((a | top) - (b & ~top)) ^ ((a ^ ~b) & top);
	}
}

/* The elements of a word that the instruction's mask register selects, as whole elements. */
static inline wire_u64 interpret_chosen(const struct interpret *s, wire_u32 word)
{
	wire_u32 own = s->micro.length >> 4 & 7, element = micro_source_width(&s->micro) & 3;

	return own ? interpret_scatter(s->mask[own] >> ((8 >> element) * word), element) : ~0ull;
}

/* The same with one bit per byte. */
static inline wire_u32 interpret_byte_bits(wire_u64 chosen)
{
	return interpret_gather(chosen & interpret_tops(0), 0);
}

/* Which bytes of a result word are known, given those of its operands. */
static inline wire_u32 interpret_element_known(const struct interpret *s, wire_u32 i,
					       wire_u64 chosen)
{
	const struct wire_micro *m = &s->micro;
	wire_u32 old = s->vector_known[micro_dst(m)] >> 8 * i & 0xff;
	wire_u32 known = s->wide_known >> 8 * i & 0xff, bits = interpret_byte_bits(chosen);
	wire_u32 own = m->length >> 4 & 7;

	if (m->op == MICRO_V_TERNARY && (m->imm == 0 || m->imm == 0xff))
		known = 0xff; /* all zeros or ones, whatever the operands */
	else if (m->op != MICRO_V_MOVE)
		known &= s->vector_known[micro_a(m)] >> 8 * i & 0xff;
	if (m->op == MICRO_V_TERNARY && m->imm != 0 && m->imm != 0xff)
		known &= old;
	if (own && !(s->masks_known >> own & 1))
		return 0;
	if (m->op >= MICRO_V_EQUAL && micro_source_width(m) > 0 && known != 0xff)
		known = 0;
	return (known & bits) | ((m->length & MICRO_ZEROING ? 0xff : old) & ~bits);
}

/* One word of dst = a OP b. A function of its own, so that the kernel's verifier checks it once. */
INTERPRET_FUNCTION int interpret_element(struct interpret *s, wire_u32 word)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 dst = micro_dst(m), i = word & 7;
	wire_u64 old = s->vector[dst][i], chosen = interpret_chosen(s, i);
	wire_u64 value = interpret_word_of(s, s->vector[micro_a(m)][i], s->wide[i], old);
	wire_u64 known = interpret_element_known(s, i, chosen);

	s->vector_known[dst] = (s->vector_known[dst] & ~(0xffull << 8 * i)) | known << 8 * i;
	s->vector[dst][i] = (value & chosen) | (m->length & MICRO_ZEROING ? 0 : old & ~chosen);
	return 0;
}

/* dst = a OP b, a vector. */
INTERPRET_FUNCTION int interpret_elements(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), words = interpret_words(width), dst = micro_dst(m);

	for (wire_u32 i = 0; i < 8; i++) {
		if (i >= words)
			break;
		interpret_element(s, i);
	}
	if (width <= 3) {
		s->vector[dst][0] &= interpret_mask(width);
		words = 1;
		interpret_set_vector_known(s, dst, width,
					   interpret_all_known(s->vector_known[dst], width));
	}
	interpret_clear_upper(s, dst, words);
	if (width > 3 && !(m->mode & MICRO_KEEP_UPPER))
		s->vector_known[dst] |= ~interpret_bytes(width);
	return 0;
}

static inline void interpret_broadcast(struct interpret *s, wire_u64 value, wire_u32 known)
{
	const struct wire_micro *m = &s->micro;
	wire_u32 element = micro_source_width(m), words = interpret_words(micro_width(m));

	value &= interpret_mask(element);
	if (element == 0)
		value *= 0x0101010101010101ull;
	else if (element == 1)
		value *= 0x0001000100010001ull;
	else if (element == 2)
		value *= 0x0000000100000001ull;
	for (wire_u32 i = 0; i < 8; i++)
		if (i < words)
			s->vector[micro_dst(m)][i] = value;
	interpret_clear_upper(s, micro_dst(m), words);
	interpret_set_vector_known(s, micro_dst(m), micro_width(m), known);
}

/* A source word of MICRO_V_PAIR, and which of its bytes are known. */
static inline wire_u64 interpret_pick(const struct interpret *s, wire_u32 pick, wire_u64 *known)
{
	wire_u32 i = pick & 1, a = micro_a(&s->micro);

	*known = (pick & 2 ? s->wide_known : s->vector_known[a]) >> 8 * i & 0xff;
	return pick & 2 ? s->wide[i] : s->vector[a][i];
}

/* Shuffles of 8-byte halves. */
INTERPRET_FUNCTION int interpret_pair(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 dst = micro_dst(m);
	wire_u64 low_known, high_known;
	wire_u64 low = interpret_pick(s, m->imm & 3, &low_known);
	wire_u64 high = interpret_pick(s, m->imm >> 2 & 3, &high_known);

	s->vector[dst][0] = low;
	s->vector[dst][1] = high;
	interpret_clear_upper(s, dst, 2);
	interpret_set_vector_known(s, dst, 4, 0);
	s->vector_known[dst] |= low_known | high_known << 8;
	return 0;
}

/* Moves between vectors and general registers. */
INTERPRET_FUNCTION int interpret_transport(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), n = micro_dst(m), b = micro_b(m);

	switch (m->op) {
	case MICRO_V_FROM_GPR:
		s->vector[n][0] = interpret_register(s, b, width);
		interpret_clear_upper(s, n, 1);
		interpret_set_vector_known(s, n, width, interpret_is_known(s, b));
		break;
	case MICRO_V_TO_GPR:
		interpret_set_register(s, n, width, s->vector[b][0],
				       interpret_all_known(s->vector_known[b], width));
		break;
	case MICRO_V_BROADCAST_GPR:
		interpret_broadcast(s, s->reg[b], interpret_is_known(s, b));
		break;
	case MICRO_V_BROADCAST:
		interpret_broadcast(s, s->wide[0],
				    interpret_all_known(s->wide_known, micro_source_width(m)));
		break;
	default: /* MICRO_V_ZERO_UPPER */
		for (wire_u32 i = 0; i < 16; i++) {
			for (wire_u32 j = 2; j < 8; j++)
				s->vector[i][j] = 0;
			s->vector_known[i] |= ~0xffffull;
		}
		break;
	}
	return 0;
}

/* pmovmskb, ptest */
INTERPRET_FUNCTION int interpret_reduce(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), words = interpret_words(width), a = micro_a(m);
	wire_u32 known = interpret_all_known(s->wide_known, width);
	wire_u64 both = 0, only_b = 0, bits = 0;

	for (wire_u32 i = 0; i < 8; i++) {
		if (i >= words)
			break;
		both |= s->vector[a][i] & s->wide[i];
		only_b |= ~s->vector[a][i] & s->wide[i];
		bits |= interpret_gather(s->wide[i] & interpret_tops(0), 0) << (8 * i);
	}
	if (m->op == MICRO_V_MASK) {
		interpret_set_register(s, micro_dst(m), 3, bits, known);
		return 0;
	}

	struct interpret_flags f = {FLAGS_ALL, (both ? 0 : FLAG_ZERO) | (only_b ? 0 : FLAG_CARRY),
				    0};

	known &= interpret_all_known(s->vector_known[a], width);
	interpret_set_flags(s, f, known);
	return 0;
}

/* The predicates of vpcmp, from the masks of "equal" and "not below". */
static inline wire_u64 interpret_predicate(wire_u32 predicate, wire_u64 equal, wire_u64 not_below,
					   wire_u64 top)
{
	wire_u64 r;

	switch (predicate & 3) {
	case 0:
		r = equal;
		break;
	case 1:
		r = ~not_below;
		break;
	case 2:
		r = ~not_below | equal;
		break;
	default:
		r = 0;
		break;
	}
	return (predicate & 4 ? ~r : r) & top;
}

/*
 * One word of a comparison into a mask register: a bit for each element that the instruction's mask
 * selects and that compares true, or WORD_UNKNOWN. A function of its own for the same reason.
 */
#define WORD_UNKNOWN 0x100
INTERPRET_FUNCTION int interpret_compare_word(struct interpret *s, wire_u32 word)
{
	if (!s)
		return WORD_UNKNOWN;

	const struct wire_micro *m = &s->micro;
	wire_u32 element = micro_source_width(m), a = micro_a(m), i = word & 7;
	wire_u64 top = interpret_tops(element), flip = m->imm & MICRO_SIGNED ? top : 0, tops;
	wire_u64 x = s->vector[a][i], y = s->wide[i], chosen = interpret_chosen(s, i);
	wire_u32 known = s->vector_known[a] >> 8 * i & s->wide_known >> 8 * i;

	if (interpret_byte_bits(chosen) & ~known)
		return WORD_UNKNOWN;
	if (m->op == MICRO_V_TEST_MASK) {
		tops = interpret_equal(x & y, 0, top);
		if (!(m->imm & 1))
			tops = ~tops & top;
	} else {
		tops = interpret_predicate(m->imm, interpret_equal(x, y, top),
					   interpret_not_below(x ^ flip, y ^ flip, top), top);
	}
	return interpret_gather(tops & chosen, element);
}

/* A comparison into a mask register. */
INTERPRET_FUNCTION int interpret_compare(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 words = interpret_words(micro_width(m)), own = m->length >> 4 & 7;
	wire_u32 element = micro_source_width(m), dst = micro_dst(m) & 7, some;
	wire_u32 known = own == 0 || s->masks_known >> own & 1;
	wire_u64 result = 0;

	for (wire_u32 i = 0; i < 8; i++) {
		if (i >= words)
			break;
		some = interpret_compare_word(s, i);
		if (some == WORD_UNKNOWN)
			known = 0;
		result |= (wire_u64)(some & 0xff) << ((8 >> (element & 3)) * i);
	}
	s->mask[dst] = result;
	s->masks_known = (s->masks_known & ~(1u << dst)) | known << dst;
	return 0;
}

static inline wire_u64 interpret_binary(const struct interpret *s, wire_u64 a, wire_u64 b,
					wire_u32 width)
{
	switch (s->micro.imm) {
	case MICRO_K_AND:
		return a & b;
	case MICRO_K_OR:
		return a | b;
	case MICRO_K_XOR:
		return a ^ b;
	case MICRO_K_ANDN:
		return ~a & b;
	case MICRO_K_XNOR:
		return ~(a ^ b);
	case MICRO_K_NOT:
		return ~b;
	case MICRO_K_UNPACK: {
		wire_u32 half = width - 1;

		return a << (8u << (half & 3)) | (b & interpret_mask(half));
	}
	default:
		return b;
	}
}

/* Operations on mask registers. */
INTERPRET_FUNCTION int interpret_masks(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), dst = micro_dst(m), a = micro_a(m) & 7, b = micro_b(m);
	wire_u64 whole = interpret_mask(width), r, result = 0;
	wire_u32 known = s->masks_known >> (b & 7) & 1;

	if (m->op == MICRO_K_TO_GPR) {
		interpret_set_register(s, dst, width < 2 ? 2 : width, s->mask[b & 7] & whole,
				       known);
		return 0;
	}
	if (m->op == MICRO_K_FROM_GPR) {
		result = s->reg[b] & whole;
		known = interpret_is_known(s, b);
	} else {
		if (m->op == MICRO_K_OR_TEST || (m->imm != MICRO_K_NOT && m->imm != MICRO_K_MOVE))
			known &= s->masks_known >> a & 1;
		if (m->op != MICRO_K_OR_TEST)
			result = interpret_binary(s, s->mask[a], s->mask[b & 7], width) & whole;
	}
	if (m->op == MICRO_K_OR_TEST) {
		r = (s->mask[a] | s->mask[b & 7]) & whole;

		struct interpret_flags f = {
			FLAGS_ALL, (r == 0 ? FLAG_ZERO : 0) | (r == whole ? FLAG_CARRY : 0), 0};

		interpret_set_flags(s, f, known);
		return 0;
	}
	s->mask[dst & 7] = result;
	s->masks_known = (s->masks_known & ~(1u << (dst & 7))) | known << (dst & 7);
	return 0;
}

/* Turns the bits of a floating-point number into an integer of the same order; returns 1 for a
 * NaN. */
static inline int interpret_order(wire_u64 *x, wire_u32 width)
{
	wire_u64 sign = width == 2 ? 1ull << 31 : 1ull << 63, size = *x & (sign - 1);

	if (size > (width == 2 ? 0x7f800000ull : 0x7ff0000000000000ull))
		return 1;
	*x = *x & sign ? sign - size : sign + size;
	return 0;
}

/* ucomis, comis */
INTERPRET_FUNCTION int interpret_compare_scalar(struct interpret *s)
{
	if (!s)
		return 0;

	const struct wire_micro *m = &s->micro;
	wire_u32 width = micro_width(m), n = micro_a(m);
	wire_u32 known = interpret_all_known(s->wide_known & s->vector_known[n], width);
	wire_u64 a = s->vector[n][0] & interpret_mask(width);
	wire_u64 b = s->wide[0] & interpret_mask(width);
	struct interpret_flags f = {FLAGS_ALL, 0, 0};

	if (interpret_order(&a, width) | interpret_order(&b, width))
		f.value = FLAG_ZERO | FLAG_PARITY | FLAG_CARRY;
	else
		f.value = a == b ? FLAG_ZERO : a < b ? FLAG_CARRY : 0;
	interpret_set_flags(s, f, known);
	return 0;
}

/* Executes one operation on vectors or masks; returns 0 or an enum wire_end. */
static inline int interpret_vectors(struct interpret *s)
{
	const struct wire_micro *m = &s->micro;
	wire_u32 op = m->op;

	if (op >= MICRO_K_FROM_GPR)
		return interpret_masks(s);
	if (op == MICRO_V_FROM_GPR || op == MICRO_V_TO_GPR || op == MICRO_V_ZERO_UPPER ||
	    op == MICRO_V_BROADCAST_GPR)
		return interpret_transport(s);
	interpret_wide_operand(s);
	if (op == MICRO_V_STORE && !s->address_known)
		return WIRE_END_UNKNOWN;
	if (op == MICRO_V_STORE)
		return interpret_store_wide(s, s->address, micro_width(m),
					    interpret_all_known(s->wide_known, micro_width(m)));
	if (op == MICRO_V_BROADCAST)
		return interpret_transport(s);
	if (op == MICRO_V_PAIR)
		return interpret_pair(s);
	if (op == MICRO_V_MASK || op == MICRO_V_TEST)
		return interpret_reduce(s);
	if (op == MICRO_V_COMPARE || op == MICRO_V_TEST_MASK)
		return interpret_compare(s);
	if (op == MICRO_V_COMPARE_SCALAR)
		return interpret_compare_scalar(s);
	return interpret_elements(s);
}

#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_STATE_H
#define CULPRIT_MICRO_INTERPRET_STATE_H

/* Part of interpret.h: the state of an interpreted window, and access to a micro-operation's
 * fields. */
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

#define INTERPRET_WORD_BITS 45 /* bits of address / 8 in a tag */
#define INTERPRET_NO_PLACE  ~0u

#define FLAG_CARRY    0x001u
#define FLAG_PARITY   0x004u
#define FLAG_ZERO     0x040u
#define FLAG_SIGN     0x080u
#define FLAG_OVERFLOW 0x800u
#define FLAGS_ALL     (FLAG_CARRY | FLAG_PARITY | FLAG_ZERO | FLAG_SIGN | FLAG_OVERFLOW)

/* What the window wrote to 8 aligned bytes. */
struct interpret_word {
	wire_u64 data;
	wire_u64 valid;	  /* 0xff in each byte that it wrote */
	wire_u64 unknown; /* 0xff in each of these whose value is unknown */
};

struct interpret_mapping {
	wire_u64 begin, end;
	wire_u64 shift; /* to be added to an address to get the file offset */
	wire_u32 slot;
	wire_u32 unused;
};

#ifndef INTERPRET_HOST
#define INTERPRET_HOST
#endif

struct interpret {
	/* To be set by the host: */
	wire_u64 reg[MICRO_REGISTERS]; /* 0-15 */
	wire_u64 pc;
	wire_u64 fs_base;
	wire_u32 flags; /* in the bit positions of rflags */

	wire_u32 flags_known; /* likewise */
	wire_u32 known;	      /* a bit per register */
	wire_u64 next;	      /* the pc of the next instruction */
	wire_u32 transfers;   /* whether the instruction transfers control */
	struct wire_micro micro;

	/* The operands of the instruction. */
	wire_u64 address, a, b, result;
	wire_u32 address_known, a_known, b_known, result_known;

	struct interpret_mapping mapping;
	struct wire_strip_key strip_key; /* of strip; slot 0: none */
	struct wire_strip strip;

	wire_u64 value; /* the result of interpret_load() */

	wire_u64 instructions; /* interpreted so far */
	wire_u32 number;       /* of the window, part of tags: words of earlier windows are free */
	wire_u32 stores;
	wire_u32 turns; /* iterations of string operations */
	INTERPRET_HOST

	wire_u64 vector[32][8];
	wire_u64 vector_known[32]; /* a bit per byte */
	wire_u64 wide[8];	   /* the vector operand b */
	wire_u64 wide_known;
	wire_u32 masks_known;
	wire_u64 mask[8];
};

/* Helpers for both integer and vector operations. */

static inline wire_u64 interpret_mask(wire_u32 width)
{
	return width >= 3 ? ~0ull : (1ull << (8u << width)) - 1;
}

static inline wire_u32 interpret_ones(wire_u64 x)
{
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return x * 0x0101010101010101ull >> 56;
}

static inline wire_u32 micro_length(const struct wire_micro *m)
{
	return m->length & 15;
}

static inline wire_u32 micro_width(const struct wire_micro *m)
{
	return m->widths & 15;
}

static inline wire_u32 micro_source_width(const struct wire_micro *m)
{
	return m->widths >> 4;
}

static inline wire_u32 micro_dst(const struct wire_micro *m)
{
	return m->registers & 31;
}

static inline wire_u32 micro_a(const struct wire_micro *m)
{
	return m->registers >> 5 & 31;
}

static inline wire_u32 micro_b(const struct wire_micro *m)
{
	return m->registers >> 10 & 31;
}

static inline wire_u32 micro_base(const struct wire_micro *m)
{
	return m->registers >> 15 & 31;
}

static inline wire_u32 micro_index(const struct wire_micro *m)
{
	return m->registers >> 20 & 31;
}

static inline wire_u32 micro_scale(const struct wire_micro *m)
{
	return m->registers >> 25 & 3;
}

static inline wire_u64 interpret_signed(wire_u32 x)
{
	return (wire_u64)(long long)(int)x;
}

static inline struct wire_place interpret_place(const struct interpret *s)
{
	struct wire_place place = {0, 0};

	if (s->mapping.slot && s->pc >= s->mapping.begin && s->pc < s->mapping.end) {
		place.slot = s->mapping.slot;
		place.offset = s->pc + s->mapping.shift;
	}
	return place;
}

static inline wire_u64 interpret_tag(const struct interpret *s, wire_u64 word)
{
	return (word & ((1ull << INTERPRET_WORD_BITS) - 1)) | (wire_u64)s->number
								      << INTERPRET_WORD_BITS;
}

static inline wire_u64 interpret_tag_word(wire_u64 tag)
{
	return tag & ((1ull << INTERPRET_WORD_BITS) - 1);
}

static inline int interpret_is_free(const struct interpret *s, wire_u64 tag)
{
	return tag >> INTERPRET_WORD_BITS != s->number;
}

static inline void interpret_set_known(struct interpret *s, wire_u32 n, wire_u32 known)
{
	s->known = (s->known & ~(1u << (n & 31))) | (known & 1) << (n & 31);
}

static inline wire_u32 interpret_is_known(const struct interpret *s, wire_u32 n)
{
	return s->known >> (n & 31) & 1;
}

#endif

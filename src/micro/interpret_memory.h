/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_MEMORY_H
#define CULPRIT_MICRO_INTERPRET_MEMORY_H

/* Part of interpret.h: memory as the window sees it, in which its own writes come first. */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

/*
 * Merges into data, which holds the bytes of an aligned word, what the window has written to that
 * word. Gives masks of the bytes that it wrote, and of those that are unknown.
 */
static inline wire_u64 interpret_lay(struct interpret *s, wire_u64 word, wire_u64 *valid,
				     wire_u64 *unknown)
{
	wire_u32 free, place = host_place(s, word, &free);

	if (place == INTERPRET_NO_PLACE) {
		*valid = *unknown = 0;
		return 0;
	}
	*valid = s->word[place].valid;
	*unknown = s->word[place].unknown;
	return s->word[place].data;
}

/* Reads 1 << width bytes, at most 8, into s->value; returns whether all of them are known. */
INTERPRET_FUNCTION int interpret_load(struct interpret *s, wire_u64 address, wire_u32 width)
{
	if (!s)
		return 0;

	wire_u64 mask = interpret_mask(width), read[2] = {0, 0}, value;
	wire_u32 size = 1u << (width & 3);
	int missing = host_read_word(s, read, size, address);

	s->value = value = read[0];
	if (s->stores == 0)
		return !missing;

	wire_u32 shift = (address & 7) * 8;
	wire_u64 valid, unknown, data = interpret_lay(s, address >> 3, &valid, &unknown);

	data >>= shift;
	valid >>= shift;
	unknown >>= shift;
	if (shift + 8 * size > 64) {
		wire_u64 valid2, unknown2;
		wire_u64 data2 = interpret_lay(s, (address >> 3) + 1, &valid2, &unknown2);

		data |= data2 << (64 - shift);
		valid |= valid2 << (64 - shift);
		unknown |= unknown2 << (64 - shift);
	}
	s->value = ((value & ~valid) | (data & valid)) & mask;
	return (unknown & mask) == 0 && (!missing || (valid & mask) == mask);
}

/* Writes bytes of one aligned word to the overlay. False if there is no room. */
static inline int interpret_put(struct interpret *s, wire_u64 word, wire_u64 data, wire_u64 mask,
				int known)
{
	wire_u32 free, place = host_place(s, word, &free);

	if (place == INTERPRET_NO_PLACE) {
		place = host_claim(s, word, free);
		if (place == INTERPRET_NO_PLACE)
			return 0;
		s->tag[place] = interpret_tag(s, word);
		s->word[place].valid = 0;
		s->word[place].unknown = 0;
		s->word[place].data = 0;
	}

	struct interpret_word *w = &s->word[place];

	w->data = (w->data & ~mask) | (data & mask);
	w->valid |= mask;
	w->unknown = known ? w->unknown & ~mask : w->unknown | mask;
	return 1;
}

/* Writes 1 << width bytes, at most 8; returns 0 or WIRE_END_STORES. */
INTERPRET_FUNCTION int interpret_store(struct interpret *s, wire_u64 address, wire_u32 width,
				       wire_u64 data, int known)
{
	if (!s)
		return WIRE_END_STORES;

	wire_u64 mask = interpret_mask(width);
	wire_u32 shift = (address & 7) * 8;

	s->stores++;
	if (!interpret_put(s, address >> 3, data << shift, mask << shift, known))
		return WIRE_END_STORES;
	if (shift + (8u << (width & 3)) > 64 &&
	    !interpret_put(s, (address >> 3) + 1, data >> (64 - shift), mask >> (64 - shift),
			   known))
		return WIRE_END_STORES;
	return 0;
}

/* Reads 1 << width bytes, 4 to 64, into s->wide, with zeros above; returns whether all are
 * known. */
INTERPRET_FUNCTION int interpret_load_wide(struct interpret *s, wire_u64 address, wire_u32 width)
{
	if (!s)
		return 0;
	for (int i = 0; i < 8; i++)
		s->wide[i] = 0;
	if (width <= 3) {
		int known = interpret_load(s, address, width);

		s->wide[0] = s->value;
		return known;
	}
	if (s->stores == 0)
		return !(width == 4   ? host_read(s, s->wide, 16, address)
			 : width == 5 ? host_read(s, s->wide, 32, address)
				      : host_read(s, s->wide, 64, address));

	wire_u32 words = 1u << ((width - 3) & 3);
	int known = 1;

	for (wire_u32 i = 0; i < 8 && i < words; i++) {
		known &= interpret_load(s, address + 8 * i, 3);
		s->wide[i] = s->value;
	}
	return known;
}

/* Writes the low 1 << width bytes, 4 to 64, of s->wide; returns 0 or WIRE_END_STORES. */
INTERPRET_FUNCTION int interpret_store_wide(struct interpret *s, wire_u64 address, wire_u32 width,
					    int known)
{
	if (!s)
		return WIRE_END_STORES;
	if (width <= 3)
		return interpret_store(s, address, width, s->wide[0], known);

	wire_u32 words = 1u << ((width - 3) & 3);

	for (wire_u32 i = 0; i < 8 && i < words; i++)
		if (interpret_store(s, address + 8 * i, 3, s->wide[i], known))
			return WIRE_END_STORES;
	return 0;
}

/* Computes the address of the memory operand. */
static inline __attribute__((always_inline)) void interpret_address(struct interpret *s)
{
	const struct wire_micro *m = &s->micro;
	wire_u32 base = micro_base(m), index = micro_index(m);
	wire_u64 address =
		s->reg[base] + (s->reg[index] << micro_scale(m)) + interpret_signed(m->disp);

	if (m->mode & MICRO_FS)
		address += s->fs_base;
	s->address = address;
	s->address_known = interpret_is_known(s, base) & interpret_is_known(s, index);
	if (s->address_known && m->mode & (MICRO_A_MEMORY | MICRO_B_MEMORY) &&
	    (index != MICRO_NO_REGISTER ||
	     (base != 4 && base != MICRO_RIP && base != MICRO_NO_REGISTER)))
		host_load(s);
}

#endif
#endif

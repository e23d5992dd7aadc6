/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_WINDOW_H
#define CULPRIT_MICRO_INTERPRET_WINDOW_H

/* Part of interpret.h: transfers of control, and the window as a whole. */
#include "interpret_state.h"

#ifdef INTERPRET_FUNCTION

#define FLAG_DIRECTION 0x400u

/* Marks everything that an unmodelled instruction writes as unknown. */
static inline int interpret_clobber(struct interpret *s)
{
	const struct wire_micro *m = &s->micro;

	if (m->mode & MICRO_TO_MEMORY)
		interpret_address(s); /* before its registers are lost */
	s->known &= ~(m->imm & MICRO_CLOBBER_REGISTERS);
	s->masks_known &= ~(m->imm >> MICRO_CLOBBER_MASKS);
	if (m->imm & MICRO_CLOBBER_FLAGS)
		s->flags_known = 0;
	if (m->mode & MICRO_TO_MEMORY) {
		if (!s->address_known)
			return WIRE_END_UNKNOWN;
		return interpret_store_wide(s, s->address, micro_width(m), 0);
	}
	for (wire_u32 i = 0; i < 32; i++)
		if (m->disp >> i & 1)
			s->vector_known[i] = 0;
	return 0;
}

static inline int interpret_push(struct interpret *s, wire_u64 value, wire_u32 known)
{
	if (!interpret_is_known(s, 4))
		return WIRE_END_UNKNOWN;
	s->reg[4] -= 8;
	return interpret_store(s, s->reg[4], 3, value, known);
}

/* Pops a word into s->value; returns whether it is known. */
static inline int interpret_pop(struct interpret *s)
{
	int known = interpret_is_known(s, 4) && interpret_load(s, s->reg[4], 3);

	s->reg[4] += 8;
	return known;
}

/*
 * One iteration of rep stos or rep movs. It is a function of its own also for the verifier of Linux
 * before 6.8, which rejects a loop that is entered in its middle, as compilers tend to lay out the
 * whole.
 */
INTERPRET_FUNCTION int interpret_string_turn(struct interpret *s)
{
	if (!s)
		return WIRE_END_STORES;

	wire_u32 width = micro_width(&s->micro);
	int known = interpret_is_known(s, 0);

	s->value = s->reg[0];
	if (s->micro.op == MICRO_COPY) {
		known = interpret_load(s, s->reg[6], width);
		s->reg[6] += 1u << (width & 3);
	}
	if (interpret_store(s, s->reg[7], width, s->value & interpret_mask(width), known))
		return WIRE_END_STORES;
	s->reg[7] += 1u << (width & 3);
	return 0;
}

/*
 * rep stos and rep movs, if short. If one ends early, the iterations done so far stay done; the
 * window ends then.
 */
INTERPRET_FUNCTION int interpret_string(struct interpret *s)
{
	if (!s)
		return WIRE_END_STORES;

	wire_u32 needs = 1u << 1 | 1u << 7;
	wire_u64 count = s->reg[1];

	if (s->micro.op == MICRO_COPY)
		needs |= 1u << 6;
	if ((s->known & needs) != needs)
		return WIRE_END_UNKNOWN;
	if (s->flags & FLAG_DIRECTION)
		return WIRE_END_INSTRUCTION;
	if (count > HOST_REPEATS(s))
		return WIRE_END_STORES;
	s->turns += (wire_u32)count;
	if (s->turns > HOST_TURNS(s))
		return WIRE_END_STORES;
	for (wire_u32 i = 0; i < HOST_REPEATS(s); i++) {
		if (i >= count)
			break;
		if (interpret_string_turn(s))
			return WIRE_END_STORES;
	}
	s->reg[1] = 0;
	return 0;
}

/* Stack operations, and others that are not operations on values. */
INTERPRET_FUNCTION int interpret_stack(struct interpret *s)
{
	if (!s)
		return WIRE_END_STORES;

	const struct wire_micro *m = &s->micro;
	wire_u32 known;

	switch (m->op) {
	case MICRO_STOP:
		return m->imm < WIRE_END_REASONS && m->imm ? (int)m->imm : WIRE_END_INSTRUCTION;
	case MICRO_NOP:
		return 0;
	case MICRO_CLOBBER:
		return interpret_clobber(s);
	case MICRO_PUSH:
		interpret_operands(s);
		return interpret_push(s, s->b, s->b_known);
	case MICRO_POP:
		known = interpret_pop(s);
		interpret_set_register(s, micro_dst(m), 3, s->value, known);
		return 0;
	default: /* MICRO_LEAVE */
		s->reg[4] = s->reg[5];
		interpret_set_known(s, 4, interpret_is_known(s, 5));
		known = interpret_pop(s);
		interpret_set_register(s, 5, 3, s->value, known);
		return 0;
	}
}

/* Jumps, calls and returns: sets next. Returns 0 or an enum wire_end. */
INTERPRET_FUNCTION int interpret_control(struct interpret *s)
{
	if (!s)
		return WIRE_END_STORES;

	const struct wire_micro *m = &s->micro;
	wire_u64 after = s->next, target = after + interpret_signed(m->imm);
	wire_u32 holds = 1;
	int end;

	s->transfers = 1;
	switch (m->op) {
	case MICRO_BRANCH:
		holds = interpret_condition(s, micro_a(m));
		if (holds == 2)
			return WIRE_END_UNKNOWN;
		break;
	case MICRO_BRANCH_RCXZ:
		if (!interpret_is_known(s, 1))
			return WIRE_END_UNKNOWN;
		holds = (s->reg[1] & interpret_mask(micro_width(m))) == 0;
		break;
	case MICRO_JUMP_TO:
	case MICRO_CALL_TO:
		interpret_operands(s);
		if (!s->b_known)
			return WIRE_END_UNKNOWN;
		target = s->b;
		break;
	case MICRO_RETURN:
		if (!interpret_pop(s))
			return WIRE_END_UNKNOWN;
		target = s->value;
		s->reg[4] += m->imm;
		break;
	default:
		break;
	}
	if (m->op == MICRO_CALL || m->op == MICRO_CALL_TO) {
		end = interpret_push(s, after, 1);
		if (end)
			return end;
	}
	s->next = holds ? target : after;
	return 0;
}

/* Sets s->mapping to the one that holds pc. Returns 0 or an enum wire_end. */
static inline int interpret_arrive(struct interpret *s)
{
	if (s->pc >= s->mapping.begin && s->pc < s->mapping.end)
		return 0;
	s->mapping.begin = s->mapping.end = 0;
	s->mapping.slot = 0;
	return host_find(s);
}

/* Fetches the operation at pc into s->micro. Returns 0 or an enum wire_end. */
INTERPRET_FUNCTION int interpret_fetch(struct interpret *s)
{
	if (!s)
		return WIRE_END_COLD;

	int end = interpret_arrive(s);

	if (end)
		return end;

	wire_u64 offset = s->pc + s->mapping.shift;
	struct wire_strip_key key = {s->mapping.slot, offset >> WIRE_STRIP_BITS};

	if (key.slot != s->strip_key.slot || key.number != s->strip_key.number) {
		const struct wire_strip *strip = host_strip(s, &key);

		if (!strip)
			return WIRE_END_COLD;
		s->strip = *strip;
		s->strip_key = key;
	}

	wire_u32 byte = offset & (WIRE_STRIP_BYTES - 1), bit = byte & 63;
	wire_u64 starts = s->strip.starts[byte / 64];

	if (!(starts >> bit & 1))
		return WIRE_END_COLD;

	const struct wire_micro *m =
		host_micro(s, s->strip.first + s->strip.rank[byte / 64] +
				      interpret_ones(starts & ((1ull << bit) - 1)));

	if (!m)
		return WIRE_END_COLD;
	s->micro = *m;
	s->next = s->pc + micro_length(&s->micro);
	s->reg[MICRO_RIP] = s->next;
	return 0;
}

/* Advances pc to next, and reports a transfer of control. Returns 0 or an enum wire_end. */
INTERPRET_FUNCTION int interpret_transfer(struct interpret *s)
{
	if (!s)
		return WIRE_END_COLD;

	struct wire_place from = interpret_place(s);

	s->pc = s->next;

	int end = interpret_arrive(s);

	host_transfer(s, from, interpret_place(s));
	return end;
}

/* Interprets one instruction. Returns 0 or an enum wire_end. */
static inline int interpret_step(struct interpret *s)
{
	int end = interpret_fetch(s);
	wire_u32 op;

	if (end)
		return end;
	s->transfers = 0;
	op = s->micro.op;
	if (op >= MICRO_V_FIRST)
		end = interpret_vectors(s);
	else if (op >= MICRO_VALUE_FIRST)
		end = interpret_value(s);
	else if (op >= MICRO_JUMP && op <= MICRO_CALL_TO)
		end = interpret_control(s);
	else if (op == MICRO_FILL || op == MICRO_COPY)
		end = interpret_string(s);
	else
		end = interpret_stack(s);
	if (end)
		return end;
	s->instructions++;
	if (s->transfers)
		return interpret_transfer(s);
	s->pc = s->next;
	return 0;
}

/* Not by memset(3): the structure is too large for the BPF compiler's expansion of that. */
static inline void interpret_forget_words(struct interpret *s)
{
	for (wire_u32 i = 0; i < HOST_PLACES(s); i++) {
		s->tag[i] = 0;
		__asm__ volatile("" ::: "memory");
	}
}

/* Begins the window whose registers, flags, pc and fs_base the host has set. */
static inline void interpret_begin(struct interpret *s)
{
	s->flags_known = FLAGS_ALL;
	s->known = ~0u;
	s->reg[MICRO_NO_REGISTER] = 0;
	s->strip_key.slot = 0;
	s->mapping.begin = s->mapping.end = 0;
	s->mapping.slot = 0;
	s->masks_known = 0;
	s->number = (s->number + 1) & ((1u << (64 - INTERPRET_WORD_BITS)) - 1);
	if (s->number == 0) {
		s->number = 1;
		interpret_forget_words(s);
	}
	s->stores = s->turns = 0;
	__builtin_memset(s->vector_known, 0, sizeof(s->vector_known));
	s->instructions = 0;
}

#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/code_state.h"

#include <string.h>

#define WORD 8
/* Lost in a call, by the convention: ax cx dx si di r8 to r11. */
#define SCRATCH 0x0fc7
/* Linux's numbers of system calls after which the stack may be another: clone, vfork, clone3. */
#define SIGRETURN   15
#define IS_CLONE(n) ((n) == 56 || (n) == 58 || (n) == 435)

static const struct code_value unknown;

static bool same(struct code_value a, struct code_value b)
{
	return a.base == b.base && a.offset == b.offset;
}

static struct code_value plus(struct code_value v, int32_t distance)
{
	if (v.base == CODE_UNKNOWN || __builtin_add_overflow(v.offset, distance, &v.offset))
		return unknown;
	return v;
}

static bool is_stack(struct code_value v)
{
	return v.base == CODE_CFA || v.base >= CODE_ALIGNED;
}

static void remove_word(struct code_state *s, unsigned i)
{
	memmove(&s->word[i], &s->word[i + 1], (CODE_WORDS - 1 - i) * sizeof(*s->word));
	memset(&s->word[CODE_WORDS - 1], 0, sizeof(*s->word));
}

/* Words below the stack pointer may be overwritten at any time. */
static void forget_dead(struct code_state *s)
{
	struct code_value sp = s->reg[ISA_REG_STACK];

	for (unsigned i = CODE_WORDS; i-- > 0;) {
		struct code_value place = s->word[i].place;

		if (place.base == CODE_UNKNOWN)
			continue;
		if ((place.base == sp.base && place.offset < sp.offset) ||
		    (place.base != sp.base && sp.base == CODE_CFA))
			remove_word(s, i);
	}
}

static bool comes_before(struct code_value a, struct code_value b)
{
	return a.base != b.base ? a.base < b.base : a.offset < b.offset;
}

static void lose_all(struct code_state *s)
{
	memset(s, 0, sizeof(*s));
}

/* A word of the stack gets a value. One that finds no room is unknown. */
static void store(struct code_state *s, struct code_value place, struct code_value value)
{
	unsigned i = 0;

	if (!is_stack(place))
		return;
	/* Where to return to is another's now. */
	if (place.base == CODE_CFA && place.offset > -2 * WORD && place.offset < 0) {
		lose_all(s);
		return;
	}
	for (unsigned k = CODE_WORDS; k-- > 0;)
		if (s->word[k].place.base == place.base &&
		    s->word[k].place.offset > place.offset - WORD &&
		    s->word[k].place.offset < place.offset + WORD)
			remove_word(s, k);
	if ((value.base != CODE_CFA && value.base != CODE_FRAME) ||
	    s->word[CODE_WORDS - 1].place.base != CODE_UNKNOWN)
		return;
	while (s->word[i].place.base != CODE_UNKNOWN && comes_before(s->word[i].place, place))
		i++;
	memmove(&s->word[i + 1], &s->word[i], (CODE_WORDS - 1 - i) * sizeof(*s->word));
	s->word[i].place = place;
	s->word[i].value = value;
}

static struct code_value load(const struct code_state *s, struct code_value place)
{
	for (unsigned i = 0; i < CODE_WORDS && is_stack(place); i++)
		if (same(s->word[i].place, place))
			return s->word[i].value;
	return unknown;
}

static void set(struct code_state *s, unsigned reg, struct code_value value)
{
	s->reg[reg] = value;
	if (reg == ISA_REG_STACK)
		forget_dead(s);
}

/* If a register that got a value is the stack pointer, and nobody knows where that came from. */
static void notice_switch(struct code_state *s, unsigned reg)
{
	if (reg != ISA_REG_STACK || s->reg[reg].base != CODE_UNKNOWN)
		return;
	if (s->switched)
		code_state_enter(s, s->outermost);
	else
		s->reg[reg].base = CODE_OTHER;
}

static void lose(struct code_state *s, uint16_t mask)
{
	for (unsigned i = 0; i < 16; i++)
		if (mask & 1u << i)
			s->reg[i] = unknown;
}

static void push(struct code_state *s, const struct code_step *f)
{
	struct code_value value = f->from < 16 ? s->reg[f->from] : unknown;

	s->reg[ISA_REG_STACK] = plus(s->reg[ISA_REG_STACK], -f->value);
	store(s, s->reg[ISA_REG_STACK], value);
}

static void pop(struct code_state *s, unsigned to, int32_t bytes)
{
	struct code_value value = load(s, s->reg[ISA_REG_STACK]);

	set(s, ISA_REG_STACK, plus(s->reg[ISA_REG_STACK], bytes));
	if (to < 16)
		set(s, to, value);
}

/* A call of the next instruction pushes its address; others come back as the convention says. */
static void call(struct code_state *s, const struct code_step *f)
{
	if (f->value != CODE_OUTSIDE && (uint32_t)f->value == f->at + f->size) {
		s->reg[ISA_REG_STACK] = plus(s->reg[ISA_REG_STACK], -WORD);
		store(s, s->reg[ISA_REG_STACK], unknown);
		return;
	}
	lose(s, SCRATCH);
	forget_dead(s);
}

static void call_kernel(struct code_state *s)
{
	struct code_value number = s->reg[0];

	if (number.base == CODE_NUMBER && (IS_CLONE(number.offset) || number.offset == SIGRETURN))
		lose_all(s);
	else
		lose(s, SCRATCH & (1u << 0 | 1u << 1 | 1u << 11));
}

void code_state_enter(struct code_state *s, bool outermost)
{
	memset(s, 0, sizeof(*s));
	s->reg[ISA_REG_STACK] = (struct code_value){CODE_CFA, -WORD};
	s->reg[ISA_REG_FRAME] = (struct code_value){CODE_FRAME, 0};
	s->outermost = outermost;
}

void code_state_apply(struct code_state *s, const struct code_step *f, uint32_t number)
{
	switch ((enum isa_frame_kind)f->kind) {
	case ISA_FRAME_LOSE:
		lose(s, (uint16_t)f->value);
		return;
	case ISA_FRAME_SET:
		set(s, f->to, (struct code_value){CODE_NUMBER, f->value});
		return;
	case ISA_FRAME_ADDRESS:
		set(s, f->to, plus(s->reg[f->from], f->value));
		notice_switch(s, f->to);
		return;
	case ISA_FRAME_ALIGN:
		set(s, f->to,
		    f->to == ISA_REG_STACK && is_stack(s->reg[f->to])
			    ? (struct code_value){CODE_ALIGNED + number, 0}
			    : unknown);
		return;
	case ISA_FRAME_PUSH:
		push(s, f);
		return;
	case ISA_FRAME_POP:
		pop(s, f->to, f->value);
		return;
	case ISA_FRAME_STORE:
		store(s, plus(s->reg[f->to], f->value), f->from < 16 ? s->reg[f->from] : unknown);
		return;
	case ISA_FRAME_LOAD:
		set(s, f->to, load(s, plus(s->reg[f->from], f->value)));
		notice_switch(s, f->to);
		return;
	case ISA_FRAME_LEAVE:
		set(s, ISA_REG_STACK, s->reg[ISA_REG_FRAME]);
		pop(s, ISA_REG_FRAME, WORD);
		return;
	case ISA_FRAME_CALL:
		call(s, f);
		return;
	case ISA_FRAME_SYSTEM:
		call_kernel(s);
		return;
	default:
		return;
	}
}

void code_state_merge(struct code_state *s, const struct code_state *other)
{
	for (unsigned i = 0; i < 16; i++)
		if (!same(s->reg[i], other->reg[i]))
			s->reg[i] = unknown;
	for (unsigned i = CODE_WORDS; i-- > 0;)
		if (s->word[i].place.base != CODE_UNKNOWN &&
		    !same(load(other, s->word[i].place), s->word[i].value))
			remove_word(s, i);
	if (s->outermost != other->outermost || s->switched != other->switched)
		lose_all(s);
}

/* DWARF's number of a register. */
static uint8_t dwarf_register(unsigned reg)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return reg < 8 ? numbers[reg] : (uint8_t)reg;
}

static bool find_by_register(const struct code_state *s, unsigned reg, struct wire_unwind_rule *r)
{
	if (s->reg[reg].base != CODE_CFA || s->reg[reg].offset == INT32_MIN)
		return false;
	r->cfa = WIRE_CFA_REGISTER;
	r->cfa_reg = dwarf_register(reg);
	r->cfa_offset = -s->reg[reg].offset;
	return true;
}

/* A word at a known distance from a register that has one of these; CODE_WORDS: there is none. */
static unsigned find_word(const struct code_state *s, unsigned reg, enum code_base base)
{
	struct code_value from = s->reg[reg];
	unsigned i;

	for (i = 0; i < CODE_WORDS; i++)
		if (is_stack(from) && s->word[i].place.base == from.base &&
		    s->word[i].value.base == (uint32_t)base &&
		    (base != CODE_FRAME || s->word[i].value.offset == 0))
			break;
	return i;
}

static int32_t distance(const struct code_state *s, unsigned word, unsigned reg)
{
	int64_t bytes = (int64_t)s->word[word].place.offset - s->reg[reg].offset;

	return (int32_t)bytes; /* frames are smaller than the 2 GiB that a sum of steps may reach */
}

static bool find_by_word(const struct code_state *s, unsigned reg, struct wire_unwind_rule *r)
{
	unsigned i = find_word(s, reg, CODE_CFA);

	if (i == CODE_WORDS || s->word[i].value.offset == INT32_MIN)
		return false;
	r->cfa = WIRE_CFA_DEREF;
	r->cfa_reg = dwarf_register(reg);
	r->cfa_offset = distance(s, i, reg);
	r->cfa_add = -s->word[i].value.offset;
	return true;
}

/*
 * A frame pointer that was set up as one comes first: where callees take the arguments off the
 * stack (V8's), or jump on to what has more of them, the stack pointer is another than the calls in
 * sight say. Else the stack pointer: it is known in all frames, the frame pointer in most.
 */
static bool find_cfa(const struct code_state *s, struct wire_unwind_rule *r)
{
	if ((s->reg[ISA_REG_FRAME].offset == -2 * WORD && find_by_register(s, ISA_REG_FRAME, r)) ||
	    find_by_register(s, ISA_REG_STACK, r) || find_by_word(s, ISA_REG_STACK, r) ||
	    find_by_register(s, ISA_REG_FRAME, r) || find_by_word(s, ISA_REG_FRAME, r))
		return true;
	for (unsigned reg = 0; reg < 16; reg++)
		if (find_by_register(s, reg, r))
			return true;
	return false;
}

static void find_frame_pointer(const struct code_state *s, struct wire_unwind_rule *r)
{
	static const uint8_t by[] = {ISA_REG_STACK, ISA_REG_FRAME};
	unsigned i;

	r->fp = WIRE_LOCATION_UNDEFINED;
	for (i = 0; i < CODE_WORDS; i++)
		if (s->word[i].place.base == CODE_CFA && s->word[i].value.base == CODE_FRAME &&
		    s->word[i].value.offset == 0) {
			r->fp = WIRE_LOCATION_AT_CFA;
			r->fp_offset = s->word[i].place.offset;
			return;
		}
	if (s->reg[ISA_REG_FRAME].base == CODE_FRAME && s->reg[ISA_REG_FRAME].offset == 0) {
		r->fp = WIRE_LOCATION_SAME;
		return;
	}
	for (unsigned k = 0; k < 2; k++) {
		i = find_word(s, by[k], CODE_FRAME);
		if (i == CODE_WORDS)
			continue;
		r->fp = WIRE_LOCATION_AT_REGISTER;
		r->fp_reg = dwarf_register(by[k]);
		r->fp_offset = distance(s, i, by[k]);
		return;
	}
}

void code_state_rule(const struct code_state *s, struct wire_unwind_rule *ret)
{
	struct wire_unwind_rule r = {.flags = WIRE_UNWIND_DERIVED, .rbx = WIRE_UNWIND_RBX_LOST};

	memset(ret, 0, sizeof(*ret));
	if (s->outermost) {
		r.cfa = WIRE_CFA_REGISTER;
		r.cfa_reg = dwarf_register(ISA_REG_STACK);
		r.ra = WIRE_LOCATION_UNDEFINED;
		*ret = r;
		return;
	}
	if (!find_cfa(s, &r))
		return;
	find_frame_pointer(s, &r);
	r.ra = WIRE_LOCATION_AT_CFA;
	r.ra_offset = -WORD;
	*ret = r;
}

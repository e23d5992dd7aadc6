/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "isa/frame.h"

#include <Zydis/Mnemonic.h>

#define WORD_BITS 64

static bool is_general(const struct isa_operand *o, unsigned bits)
{
	return o->kind == ISA_OPERAND_REGISTER && o->reg < ISA_REG_PC && o->size_bits == bits;
}

/* Whether the operand is memory at a general register plus a constant. */
static bool is_plain_memory(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_MEMORY && o->base < ISA_REG_PC && o->index == ISA_REG_NONE &&
	       o->segment == ISA_REG_NONE && o->value >= INT32_MIN && o->value <= INT32_MAX;
}

static bool is_constant(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_IMMEDIATE && o->value >= INT32_MIN && o->value <= INT32_MAX;
}

static uint16_t written_registers(const struct isa_operands *o)
{
	uint16_t mask = 0;

	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER && o->list[i].reg < ISA_REG_PC &&
		    (o->list[i].access & ISA_ACCESS_WRITES))
			mask |= (uint16_t)(1u << o->list[i].reg);
	return mask;
}

static void set_address(struct isa_frame *f, uint8_t to, uint8_t from, int64_t value)
{
	f->kind = ISA_FRAME_ADDRESS;
	f->to = to;
	f->from = from;
	f->value = (int32_t)value;
}

static bool read_move(const struct isa_operand *to, const struct isa_operand *from,
		      struct isa_frame *f)
{
	if (is_general(to, WORD_BITS) && is_general(from, WORD_BITS)) {
		set_address(f, to->reg, from->reg, 0);
	} else if (is_general(to, WORD_BITS) && is_plain_memory(from)) {
		f->kind = ISA_FRAME_LOAD;
		f->to = to->reg;
		f->from = from->base;
		f->value = (int32_t)from->value;
	} else if (is_plain_memory(to)) {
		f->kind = ISA_FRAME_STORE;
		f->to = to->base;
		f->from = is_general(from, WORD_BITS) ? from->reg : ISA_REG_NONE;
		f->value = (int32_t)to->value;
	} else if (to->kind == ISA_OPERAND_REGISTER && to->reg < ISA_REG_PC &&
		   to->size_bits >= 32 && is_constant(from)) {
		f->kind = ISA_FRAME_SET;
		f->to = to->reg;
		f->value = (int32_t)from->value;
	} else {
		return false;
	}
	return true;
}

static bool read_sum(const struct isa_operand *to, const struct isa_operand *by, bool minus,
		     struct isa_frame *f)
{
	if (!is_general(to, WORD_BITS) || !is_constant(by))
		return false;
	set_address(f, to->reg, to->reg, minus ? -by->value : by->value);
	return by->value != INT32_MIN;
}

/* and reg, -2^n */
static bool read_align(const struct isa_operand *to, const struct isa_operand *by,
		       struct isa_frame *f)
{
	uint64_t size = -(uint64_t)by->value;

	if (!is_general(to, WORD_BITS) || !is_constant(by) || by->value >= 0 || (size & (size - 1)))
		return false;
	f->kind = ISA_FRAME_ALIGN;
	f->to = to->reg;
	return true;
}

/* How much of the stack an instruction takes or gives back. */
static int32_t stack_bytes(const struct isa_operands *o)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_MEMORY && o->list[i].hidden &&
		    o->list[i].base == ISA_REG_STACK)
			return o->list[i].size_bits / 8;
	return 0;
}

static bool read_push(const struct isa_operands *o, bool pop, struct isa_frame *f)
{
	const struct isa_operand *what = &o->list[0];
	bool whole = o->shown && is_general(what, WORD_BITS);

	f->kind = pop ? ISA_FRAME_POP : ISA_FRAME_PUSH;
	f->to = f->from = whole ? what->reg : ISA_REG_NONE;
	f->value = stack_bytes(o);
	/* A part of a register that is popped is lost, with the stack pointer: not done. */
	return f->value && (!pop || whole || !o->shown || what->kind == ISA_OPERAND_MEMORY);
}

/* The instructions that make frames. False: it is none of these forms. */
static bool read_form(const struct isa_operands *o, struct isa_frame *f)
{
	const struct isa_operand *list = o->list;

	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return read_move(&list[0], &list[1], f);
	case ZYDIS_MNEMONIC_LEA:
		if (!is_general(&list[0], WORD_BITS) || !is_plain_memory(&list[1]))
			return false;
		set_address(f, list[0].reg, list[1].base, list[1].value);
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return read_sum(&list[0], &list[1], o->mnemonic == ZYDIS_MNEMONIC_SUB, f);
	case ZYDIS_MNEMONIC_AND:
		return read_align(&list[0], &list[1], f);
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return read_push(o, false, f);
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		return read_push(o, true, f);
	case ZYDIS_MNEMONIC_LEAVE:
		f->kind = ISA_FRAME_LEAVE;
		return true;
	default:
		return false;
	}
}

/* What else writes registers, or memory by the stack pointer. */
static void read_other(const struct isa_operands *o, struct isa_frame *f)
{
	const struct isa_operand *to = &o->list[0];

	f->mask = written_registers(o);
	f->kind = f->mask ? ISA_FRAME_LOSE : ISA_FRAME_NONE;
	if ((o->attributes & ISA_ZERO_IDIOM) && to->kind == ISA_OPERAND_REGISTER &&
	    to->reg < ISA_REG_PC) {
		f->kind = ISA_FRAME_SET;
		f->to = to->reg;
		f->value = 0;
	} else if (!f->mask && o->shown && is_plain_memory(to) &&
		   (to->access & ISA_ACCESS_WRITES)) {
		f->kind = ISA_FRAME_STORE;
		f->to = to->base;
		f->from = ISA_REG_NONE;
		f->value = (int32_t)to->value;
	}
}

static bool read_flow(const struct isa_instruction *in, const struct isa_operands *o,
		      struct isa_frame *f)
{
	static const uint8_t kinds[] = {
		[ISA_BRANCH_JUMP] = ISA_FRAME_JUMP,	[ISA_BRANCH_CONDITIONAL] = ISA_FRAME_BRANCH,
		[ISA_BRANCH_CALL] = ISA_FRAME_CALL,	[ISA_BRANCH_RETURN] = ISA_FRAME_RETURN,
		[ISA_BRANCH_SYSTEM] = ISA_FRAME_SYSTEM, [ISA_BRANCH_STOP] = ISA_FRAME_STOP,
	};

	if ((o->attributes & ISA_NOP) || o->mnemonic == ZYDIS_MNEMONIC_INT3) {
		f->kind = ISA_FRAME_PADDING;
		return true;
	}
	if (in->branch == ISA_BRANCH_NONE)
		return false;
	f->kind = kinds[in->branch];
	f->target = in->target;
	return true;
}

void isa_frame_decode(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      uint64_t address, struct isa_frame *ret)
{
	struct isa_instruction in;
	struct isa_operands o;

	*ret = (struct isa_frame){.target = ISA_NO_ADDRESS};
	if (!isa_decode_operands(d, code, size, address, &in, &o))
		ret->kind = ISA_FRAME_BAD;
	else if (!read_flow(&in, &o, ret) && !read_form(&o, ret))
		read_other(&o, ret);
	ret->size = in.size;
}

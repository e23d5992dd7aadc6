/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/code_switch.h"

#include <Zydis/Mnemonic.h>
#include "isa/frame.h"

#define INSTRUCTIONS 12 /* behind the call, at most */
#define DWARF_RSP    7

/* Words that were followed: the thread's base + at[0] has the first, that + at[1] the second... */
struct chain {
	int64_t at[4];
	uint8_t depth[16]; /* by register: it has that word; 0: another value */
	bool done;	   /* the stack pointer has the fourth */
};

static bool is_word(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_MEMORY && o->size_bits == 64 && o->index == ISA_REG_NONE;
}

/* Which word of the chain is read there; 0: none. */
static unsigned word_at(const struct chain *c, const struct isa_operand *from)
{
	if (!is_word(from))
		return 0;
	if (from->base == ISA_REG_NONE && from->segment == ISA_REG_FS)
		return from->value >= INT32_MIN && from->value < 0 ? 1 : 0;
	if (from->base >= ISA_REG_PC || from->segment != ISA_REG_NONE || !c->depth[from->base] ||
	    from->value < 0 || from->value > UINT16_MAX)
		return 0;
	return c->depth[from->base] + 1u;
}

/* False: the way back is another. */
static bool follow_load(struct chain *c, const struct isa_operand *to,
			const struct isa_operand *from)
{
	unsigned word = word_at(c, from);

	if (to->reg == ISA_REG_STACK) {
		c->done = word == 4;
		c->at[3] = from->value;
		return c->done;
	}
	c->depth[to->reg] = 0;
	if (word == 0 || word > 3)
		return true;
	c->at[word - 1] = from->value;
	c->depth[to->reg] = (uint8_t)word;
	return true;
}

static bool follow(struct chain *c, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0];

	if (o->mnemonic == ZYDIS_MNEMONIC_MOV && to->kind == ISA_OPERAND_REGISTER &&
	    to->reg < ISA_REG_PC && to->size_bits == 64 && !c->done)
		return follow_load(c, to, &o->list[1]);
	for (unsigned i = 0; i < o->count; i++) {
		if (o->list[i].kind != ISA_OPERAND_REGISTER || o->list[i].reg >= ISA_REG_PC ||
		    !(o->list[i].access & ISA_ACCESS_WRITES))
			continue;
		if (o->list[i].reg == ISA_REG_STACK)
			return false;
		c->depth[o->list[i].reg] = 0;
	}
	return true;
}

bool code_switch_read(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      struct wire_unwind_rule *ret)
{
	struct isa_instruction in = {.branch = ISA_BRANCH_NONE};
	struct chain c = {.done = false};
	struct isa_operands o;
	size_t at = 0;

	for (unsigned i = 0; i < INSTRUCTIONS && at < size; i++, at += in.size) {
		if (!isa_decode_operands(d, code + at, size - at, at, &in, &o))
			return false;
		if (in.branch != ISA_BRANCH_NONE)
			break;
		if (!follow(&c, &o))
			return false;
	}
	if (!c.done || in.branch != ISA_BRANCH_RETURN)
		return false;
	*ret = (struct wire_unwind_rule){
		.cfa = WIRE_CFA_THREAD,
		.cfa_reg = DWARF_RSP,
		.fp = WIRE_LOCATION_SAME,
		.ra = WIRE_LOCATION_AT_CFA,
		.flags = WIRE_UNWIND_DERIVED,
		.rbx = WIRE_UNWIND_RBX_LOST,
		.cfa_offset = (int32_t)c.at[0],
		.cfa_add = (int32_t)((uint32_t)c.at[1] | (uint32_t)c.at[2] << 16),
		.fp_offset = (int32_t)c.at[3],
		.ra_offset = -8,
	};
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <Zydis/Mnemonic.h>

/* The content of a register as a distance from the stack pointer at the function's entry. */
enum height_kind { HEIGHT_UNKNOWN, HEIGHT_KNOWN, HEIGHT_FOREIGN /* another stack */ };

struct height {
	uint8_t kind;
	int64_t offset;
};

struct heights {
	struct height stack, frame;
};

static void move_stack(struct heights *h, int64_t by)
{
	h->stack.offset += by;
}

/* lea disp(base), of which base may be followed. */
static struct height lea_height(const struct heights *h, const struct isa_operand *o)
{
	struct height from = {HEIGHT_UNKNOWN, 0};

	if (o->index == ISA_REG_NONE && o->base == ISA_REG_STACK)
		from = h->stack;
	if (o->index == ISA_REG_NONE && o->base == ISA_REG_FRAME)
		from = h->frame;
	from.offset += o->value;
	return from;
}

static struct height move_height(const struct heights *h, const struct isa_operand *from)
{
	if (from->kind == ISA_OPERAND_REGISTER && from->reg == ISA_REG_STACK)
		return h->stack;
	if (from->kind == ISA_OPERAND_REGISTER && from->reg == ISA_REG_FRAME)
		return h->frame;
	return (struct height){HEIGHT_UNKNOWN, 0};
}

/* A write of one of the two registers. */
static void step_write(struct heights *h, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0], *from = &o->list[1];
	struct height *r = to->reg == ISA_REG_STACK ? &h->stack : &h->frame;
	const bool known = to->kind == ISA_OPERAND_REGISTER && o->shown == 2;

	if (known && o->mnemonic == ZYDIS_MNEMONIC_LEA) {
		*r = lea_height(h, from);
	} else if (known && o->mnemonic == ZYDIS_MNEMONIC_MOV) {
		*r = move_height(h, from);
		/* setjmp's counterpart and coroutines take their stack from elsewhere. */
		if (r == &h->stack && r->kind == HEIGHT_UNKNOWN)
			r->kind = HEIGHT_FOREIGN;
	} else if (known && from->kind == ISA_OPERAND_IMMEDIATE &&
		   o->mnemonic == ZYDIS_MNEMONIC_ADD) {
		r->offset += from->value;
	} else if (known && from->kind == ISA_OPERAND_IMMEDIATE &&
		   o->mnemonic == ZYDIS_MNEMONIC_SUB) {
		r->offset -= from->value;
	} else {
		r->kind = HEIGHT_UNKNOWN;
	}
}

static void step(struct heights *h, const struct isa_instruction *in, const struct isa_operands *o)
{
	if (in->branch != ISA_BRANCH_NONE)
		return;
	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		move_stack(h, -8);
		return;
	case ZYDIS_MNEMONIC_POPFQ:
		move_stack(h, 8);
		return;
	case ZYDIS_MNEMONIC_POP:
		move_stack(h, 8);
		if (o->list[0].kind == ISA_OPERAND_REGISTER && o->list[0].reg == ISA_REG_FRAME)
			h->frame.kind = HEIGHT_UNKNOWN;
		if (o->list[0].kind == ISA_OPERAND_REGISTER && o->list[0].reg == ISA_REG_STACK)
			h->stack.kind = HEIGHT_FOREIGN;
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		h->stack = h->frame;
		move_stack(h, 8);
		h->frame.kind = HEIGHT_UNKNOWN;
		return;
	default:
		break;
	}
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER &&
		    (o->list[i].access & ISA_ACCESS_WRITES) &&
		    (o->list[i].reg == ISA_REG_STACK || o->list[i].reg == ISA_REG_FRAME)) {
			step_write(h, o);
			return;
		}
}

static void step_block(const struct table_search *t, uint32_t block, struct heights *h)
{
	const struct cfg_block *b = &t->f->blocks[block];

	for (uint32_t i = 0; i < b->instruction_count; i++) {
		const uint32_t index = b->first_instruction + i;
		struct isa_instruction in;
		struct isa_operands o;

		if ((t->writes[index] & (1u << ISA_REG_STACK | 1u << ISA_REG_FRAME)) &&
		    table_decode(t, index, &in, &o))
			step(h, &in, &o);
	}
}

/* Forward from the entry; the first way that reaches a block counts, as all must agree. */
static int compute_heights(struct table_search *t)
{
	const struct cfg_function *f = t->f;
	struct heights *at = calloc(f->block_count, sizeof(*at));
	uint32_t *work = calloc(f->block_count + 1, sizeof(*work)), count = 0;
	bool *seen = calloc(f->block_count, sizeof(*seen));
	int r = at && work && seen ? 0 : -ENOMEM;

	if (!r && f->entry_block != CFG_OUTSIDE) {
		at[f->entry_block] = (struct heights){{HEIGHT_KNOWN, 0}, {HEIGHT_UNKNOWN, 0}};
		seen[f->entry_block] = true;
		work[count++] = f->entry_block;
	}
	while (count && !r) {
		uint32_t block = work[--count];
		struct heights h = at[block];

		step_block(t, block, &h);
		t->entry_height[block] = h.stack.kind == HEIGHT_FOREIGN ||
					 (h.stack.kind == HEIGHT_KNOWN && h.stack.offset == 0);
		for (uint32_t e = 0; e < f->blocks[block].succ_count; e++) {
			uint32_t to = f->edges[f->blocks[block].first_succ + e].to;

			if (to == CFG_OUTSIDE || seen[to])
				continue;
			seen[to] = true;
			at[to] = h;
			work[count++] = to;
		}
	}
	free(at);
	free(work);
	free(seen);
	return r;
}

int table_at_entry_height(struct table_search *t, uint32_t block, bool *ret)
{
	int r = 0;

	if (!t->entry_height) {
		t->entry_height = calloc(t->f->block_count, sizeof(*t->entry_height));
		r = t->entry_height ? compute_heights(t) : -ENOMEM;
	}
	if (!r)
		*ret = t->entry_height[block];
	return r;
}

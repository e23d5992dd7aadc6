/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/induction.h"

#include <string.h>
#include "cfg/image.h"
#include "isa/operands.h"

/* What is known of a loop while its instructions are examined one after the other. */
struct induction_search {
	const struct cfg_function *f;
	struct cfg_induction found;
	uint32_t written; /* registers, a bit each: by the instructions so far */
	bool once;	  /* the block at hand runs once in an iteration */
};

static bool is_general(const struct isa_operand *op)
{
	return op->kind == ISA_OPERAND_REGISTER && op->reg < CFG_GENERAL_REGISTERS;
}

static struct cfg_register_change constant(int64_t step)
{
	return (struct cfg_register_change){.how = CFG_CHANGE_CONSTANT, .step = step};
}

/* By another register, which is not the one that is changed. */
static struct cfg_register_change multiple(uint8_t reg, uint8_t by, int64_t step)
{
	if (by >= CFG_GENERAL_REGISTERS || by == reg)
		return (struct cfg_register_change){.how = CFG_CHANGE_ANY};
	return (struct cfg_register_change){.how = CFG_CHANGE_REGISTER, .by = by, .step = step};
}

/* add and sub. */
static struct cfg_register_change added(const struct isa_operands *o, int64_t sign)
{
	const struct isa_operand *by = &o->list[1];

	if (o->shown < 2)
		return (struct cfg_register_change){.how = CFG_CHANGE_ANY};
	if (by->kind == ISA_OPERAND_IMMEDIATE)
		return constant(sign * by->value);
	return is_general(by) ? multiple(o->list[0].reg, by->reg, sign)
			      : (struct cfg_register_change){.how = CFG_CHANGE_ANY};
}

/* lea of its own register and something else. */
static struct cfg_register_change moved(const struct isa_operands *o)
{
	const struct isa_operand *from = &o->list[1];
	const uint8_t reg = o->list[0].reg;

	if (o->shown == 2 && from->kind == ISA_OPERAND_MEMORY && from->segment == ISA_REG_NONE) {
		if (from->base == reg && from->index == ISA_REG_NONE)
			return constant(from->value);
		if (from->base == reg && !from->value)
			return multiple(reg, from->index, from->scale);
		if (from->index == reg && from->scale == 1 && !from->value)
			return multiple(reg, from->base, 1);
	}
	return (struct cfg_register_change){.how = CFG_CHANGE_ANY};
}

/* What the instruction does to the register that its first operand is. */
static struct cfg_register_change change_of(const struct isa_decoder *d,
					    const struct isa_operands *o)
{
	const char *name = isa_mnemonic_name(d, o->mnemonic);
	struct cfg_register_change c = {.how = CFG_CHANGE_ANY};

	if (!o->shown || !is_general(&o->list[0]) || !isa_operand_replaces(o, &o->list[0]))
		return c;
	if (strcmp(name, "add") == 0)
		c = added(o, 1);
	else if (strcmp(name, "sub") == 0)
		c = added(o, -1);
	else if (strcmp(name, "inc") == 0)
		c = constant(1);
	else if (strcmp(name, "dec") == 0)
		c = constant(-1);
	else if (strcmp(name, "lea") == 0)
		c = moved(o);
	return c;
}

/* False: the loop is no leaf. */
static bool look_at(struct induction_search *s, const struct isa_instruction *in)
{
	const struct isa_decoder *d = s->f->image->decoder;
	struct isa_instruction again;
	struct isa_operands o;
	size_t size;
	const uint8_t *code = cfg_code_at(s->f->image, in->address, &size);
	struct cfg_register_change c;

	if (in->branch != ISA_BRANCH_NONE && in->branch != ISA_BRANCH_JUMP &&
	    in->branch != ISA_BRANCH_CONDITIONAL)
		return false;
	if (!code || !size || !isa_decode_operands(d, code, size, in->address, &again, &o))
		return false;
	c = s->once ? change_of(d, &o) : (struct cfg_register_change){.how = CFG_CHANGE_ANY};
	for (unsigned i = 0; i < o.count; i++) {
		const struct isa_operand *op = &o.list[i];

		if (!is_general(op) || !(op->access & ISA_ACCESS_WRITES))
			continue;
		if (i || s->written & 1u << op->reg)
			s->found.registers[op->reg].how = CFG_CHANGE_ANY;
		else
			s->found.registers[op->reg] = c;
		s->written |= 1u << op->reg;
	}
	return !(s->written & 1u << ISA_REG_STACK);
}

/* The class of the loop's only way back to its header; CFG_NODE_NONE: there are several. */
static uint32_t class_of_way_back(const struct cfg_function *f, const struct cfg_loops *l,
				  const struct cfg_equivalence *e, uint32_t loop)
{
	const struct cfg_block *header = &f->blocks[l->loops[loop].header];
	uint32_t class = CFG_NODE_NONE;

	for (uint32_t i = 0; i < header->pred_count; i++) {
		const uint32_t edge = f->preds[header->first_pred + i], from = f->edges[edge].from;

		if (from == CFG_OUTSIDE || l->innermost[from] != loop)
			continue;
		if (class != CFG_NODE_NONE)
			return CFG_NODE_NONE;
		class = e->edge_class[edge];
	}
	return class;
}

/* Once in an iteration runs what runs as often as the header, or as the way back to it. */
static bool look_at_all(struct induction_search *s, const struct cfg_loops *l,
			const struct cfg_equivalence *e, uint32_t loop)
{
	const uint32_t *class = e->node_class;
	const uint32_t back = class_of_way_back(s->f, l, e, loop);

	for (uint32_t b = 0; b < s->f->block_count; b++) {
		const struct cfg_block *block = &s->f->blocks[b];

		if (l->innermost[b] != loop)
			continue;
		s->once = class[b] == class[l->loops[loop].header] || class[b] == back;
		for (uint32_t i = 0; i < block->instruction_count; i++)
			if (!look_at(s, &s->f->instructions[block->first_instruction + i]))
				return false;
	}
	return true;
}

bool cfg_induction_find(const struct cfg_function *f, const struct cfg_loops *l,
			const struct cfg_equivalence *e, uint32_t loop, struct cfg_induction *ret)
{
	struct induction_search s = {.f = f};

	/* Without all edges nobody knows what runs how often. */
	if (!f->complete || l->loops[loop].inside || l->loops[loop].irreducible)
		return false;
	if (!look_at_all(&s, l, e, loop))
		return false;
	for (unsigned i = 0; i < CFG_GENERAL_REGISTERS; i++) {
		struct cfg_register_change *c = &s.found.registers[i];

		if (!(s.written & 1u << i))
			c->how = CFG_CHANGE_NONE;
		else if ((c->how == CFG_CHANGE_CONSTANT && !c->step) ||
			 (c->how == CFG_CHANGE_REGISTER && s.written & 1u << c->by))
			c->how = CFG_CHANGE_ANY;
		s.found.count += c->how == CFG_CHANGE_CONSTANT || c->how == CFG_CHANGE_REGISTER;
	}
	*ret = s.found;
	return ret->count > 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/culprits_flow.h"

#include <stdlib.h>
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/culprits/culprits_weights.h"

uint32_t culprit_block_of(const struct culprit_view *v, uint32_t at)
{
	const struct cfg_function *f = v->function;
	uint32_t low = 0, high = f->block_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (f->blocks[middle].first_instruction <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The edge into a block that is taken most; CULPRIT_NOBODY: none is known. */
static uint32_t main_arrival(const struct culprit_view *v, uint32_t block)
{
	const struct cfg_function *f = v->function;
	const struct cfg_block *b = &f->blocks[block];
	uint32_t best = CULPRIT_NOBODY;

	for (uint32_t i = 0; i < b->pred_count; i++) {
		uint32_t edge = f->preds[b->first_pred + i];

		if (f->edges[edge].from == CFG_OUTSIDE)
			continue;
		if (best == CULPRIT_NOBODY || v->edge_count[edge] > v->edge_count[best])
			best = edge;
	}
	return best;
}

void culprit_walk_begin(struct culprit_walk *w, const struct culprit_view *v, uint32_t at)
{
	*w = (struct culprit_walk){v, at, culprit_block_of(v, at), LOOK_BACK};
}

uint32_t culprit_walk_back(struct culprit_walk *w)
{
	const struct cfg_function *f = w->view->function;

	if (w->left == 0)
		return CULPRIT_NOBODY;
	w->left--;
	if (w->at > f->blocks[w->block].first_instruction)
		return --w->at;
	uint32_t edge = main_arrival(w->view, w->block);
	/* What a function that was called did is not seen from here. */
	if (edge == CULPRIT_NOBODY || f->edges[edge].kind == CFG_AFTER_CALL ||
	    f->blocks[f->edges[edge].from].instruction_count == 0) {
		w->left = 0;
		return CULPRIT_NOBODY;
	}
	w->block = f->edges[edge].from;
	const struct cfg_block *b = &f->blocks[w->block];
	w->at = b->first_instruction + b->instruction_count - 1;
	return w->at;
}

const struct isa_operand *culprit_memory(const struct isa_operands *o, unsigned access)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_MEMORY && (o->list[i].access & access))
			return &o->list[i];
	return NULL;
}

bool culprit_writes_register(const struct isa_operands *o, unsigned reg)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER && o->list[i].reg == reg &&
		    (o->list[i].access & ISA_ACCESS_WRITES))
			return true;
	return false;
}

uint32_t culprit_find_writer(const struct culprit_view *v, uint32_t at, unsigned reg)
{
	struct culprit_walk w;
	uint32_t i;

	culprit_walk_begin(&w, v, at);
	while ((i = culprit_walk_back(&w)) != CULPRIT_NOBODY)
		if (culprit_writes_register(&v->operands[i], reg))
			return i;
	return CULPRIT_NOBODY;
}

/* True when the instruction does nothing to the register but add a constant. */
static bool adds_constant(const struct culprit_view *v, uint32_t at, unsigned reg, int64_t *ret)
{
	const struct isa_operands *o = &v->operands[at];
	const struct isa_operand *to = &o->list[0], *by = &o->list[1];

	if (o->shown == 0 || to->kind != ISA_OPERAND_REGISTER || to->reg != reg)
		return false;
	switch (culprit_kind_of(v->kinds, o)) {
	case CULPRIT_KIND_INCREMENT:
		*ret = 1;
		return true;
	case CULPRIT_KIND_DECREMENT:
		*ret = -1;
		return true;
	case CULPRIT_KIND_ADD:
	case CULPRIT_KIND_SUBTRACT:
		if (o->shown < 2 || by->kind != ISA_OPERAND_IMMEDIATE)
			return false;
		*ret = culprit_kind_of(v->kinds, o) == CULPRIT_KIND_ADD ? by->value : -by->value;
		return true;
	case CULPRIT_KIND_ADDRESS:
		if (o->shown < 2 || by->base != reg || by->index != ISA_REG_NONE)
			return false;
		*ret = by->value;
		return true;
	default:
		return false;
	}
}

/* What the writers of a register in a loop add up to in a round; false when one does else. */
static bool find_step(const struct culprit_view *v, uint32_t loop, unsigned reg, int64_t *ret)
{
	const struct cfg_function *f = v->function;
	int64_t sum = 0, step;

	for (uint32_t b = 0; b < f->block_count; b++) {
		const struct cfg_block *block = &f->blocks[b];

		if (!cfg_loop_has(v->loops, loop, b))
			continue;
		for (uint32_t k = 0; k < block->instruction_count; k++) {
			uint32_t i = block->first_instruction + k;

			/* A called function may change all but what it must keep. */
			if (f->instructions[i].branch == ISA_BRANCH_CALL && reg != 3 && reg != 5 &&
			    !(reg >= 12 && reg <= 15))
				return false;
			if (!culprit_writes_register(&v->operands[i], reg))
				continue;
			if (!adds_constant(v, i, reg, &step) ||
			    __builtin_add_overflow(sum, step, &sum))
				return false;
		}
	}
	*ret = sum;
	return true;
}

enum culprit_motion culprit_find_motion(const struct culprit_view *v, uint32_t at,
					const struct isa_operand *memory, int64_t *ret_stride)
{
	int64_t base = 0, index = 0;
	bool stack = memory->base == ISA_REG_STACK && memory->index == ISA_REG_NONE;

	*ret_stride = 0;
	if (stack || (memory->index == ISA_REG_NONE &&
		      (memory->base == ISA_REG_PC || memory->base == ISA_REG_NONE)))
		return CULPRIT_MOTION_FIXED;
	if (!v->loops)
		return CULPRIT_MOTION_UNKNOWN;
	uint32_t loop = v->loops->innermost[culprit_block_of(v, at)];
	if (loop == CFG_LOOP_NONE || v->loops->loops[loop].members > MOTION_BLOCKS_MAX)
		return CULPRIT_MOTION_UNKNOWN;
	if (memory->base < ISA_REG_PC && !find_step(v, loop, memory->base, &base))
		return CULPRIT_MOTION_UNKNOWN;
	if (memory->index != ISA_REG_NONE &&
	    (memory->index >= ISA_REG_PC || !find_step(v, loop, memory->index, &index)))
		return CULPRIT_MOTION_UNKNOWN;
	*ret_stride = base + index * memory->scale;
	/* In an outer loop's round the address may be another: only a hot loop says much. */
	return *ret_stride ? CULPRIT_MOTION_STRIDE : CULPRIT_MOTION_FIXED;
}

static bool same_place(const struct isa_operand *a, const struct isa_operand *b)
{
	return a->base == b->base && a->index == b->index && a->segment == b->segment &&
	       (a->index == ISA_REG_NONE || a->scale == b->scale);
}

/* Bytes [from, to) of an operand relative to its registers. */
static void extent(const struct isa_operand *o, int64_t *from, int64_t *to)
{
	*from = o->value;
	*to = o->value + (o->size_bits ? o->size_bits / 8 : 8);
}

uint32_t culprit_find_blocked_store(const struct culprit_view *v, uint32_t at,
				    const struct isa_operand *load, bool *ret_fresh)
{
	struct culprit_walk w;
	int64_t load_from, load_to, from, to;
	uint32_t i;

	*ret_fresh = false;
	extent(load, &load_from, &load_to);
	culprit_walk_begin(&w, v, at);
	while ((i = culprit_walk_back(&w)) != CULPRIT_NOBODY) {
		const struct isa_operands *o = &v->operands[i];
		const struct isa_operand *store = culprit_memory(o, ISA_ACCESS_WRITES);

		if (v->function->instructions[i].branch == ISA_BRANCH_CALL)
			break;
		if (store && same_place(store, load)) {
			extent(store, &from, &to);
			*ret_fresh |= llabs(from - load_from) < LINE_BYTES;
			if (from < load_to && load_from < to)
				return from <= load_from && to >= load_to ? CULPRIT_NOBODY : i;
		}
		/* Before this the registers stood for another place. */
		if ((load->base < ISA_REG_PC && culprit_writes_register(o, load->base)) ||
		    (load->index < ISA_REG_PC && culprit_writes_register(o, load->index)))
			break;
	}
	return CULPRIT_NOBODY;
}

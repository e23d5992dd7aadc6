/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/routes.h"

#include <stdlib.h>
#include "cfg/symbolic.h"

/*
 * The backward slice of an indirect jump, by symbolic execution of every path that leads to it,
 * each as short as the answer allows. A path begins as the jump's own block; while the answer
 * depends on what came before, the path is extended by each predecessor.
 */
#define PATH_BLOCKS_MAX 24
#define PATH_STEPS_MAX	6000 /* instructions executed for one jump */
/* The same where the table is known and only its bounds are missing: they are near, or nowhere. */
#define BOUND_BLOCKS_MAX 6
#define BOUND_STEPS_MAX	 800
#define CONST_BLOCKS_MAX 4096 /* looked at for one register's definitions */

struct path {
	struct table_search *t;
	struct build_jump *jump;
	uint32_t blocks[PATH_BLOCKS_MAX]; /* the jump's first, then backward */
	uint32_t edges[PATH_BLOCKS_MAX];  /* by which blocks[i] goes on to blocks[i - 1] */
	unsigned length;
	size_t steps;
	struct table_shape *shapes;
	unsigned shape_count;
	bool complete;
	bool limited; /* some way is longer than a search may be */
};

enum verdict { PATH_DONE, PATH_EXTEND, PATH_FAIL };

/* ---- registers that are constant wherever they come from ---- */

/* What the last write of the register in [first, index) of the list is. */
enum definition { DEFINED_NOT, DEFINED_CONSTANT, DEFINED_OTHERWISE };

static enum definition find_definition(const struct table_search *t, uint32_t first, uint32_t end,
				       unsigned reg, uint64_t *ret)
{
	static const unsigned caller_saved = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 |
					     1u << 8 | 1u << 9 | 1u << 10 | 1u << 11;

	for (uint32_t i = end; i-- > first;) {
		struct isa_instruction in;
		struct isa_operands o;

		if (t->f->instructions[i].branch == ISA_BRANCH_CALL && (caller_saved & 1u << reg))
			return DEFINED_OTHERWISE;
		if (!(t->writes[i] & 1u << reg))
			continue;
		if (!table_decode(t, i, &in, &o) || o.shown < 2)
			return DEFINED_OTHERWISE;
		const struct isa_operand *from = &o.list[1];
		if (o.list[0].kind != ISA_OPERAND_REGISTER || o.list[0].reg != reg ||
		    o.list[0].size_bits < 32)
			return DEFINED_OTHERWISE;
		if (from->kind == ISA_OPERAND_MEMORY && from->access == 0 &&
		    (from->base == ISA_REG_PC || from->base == ISA_REG_NONE) &&
		    from->index == ISA_REG_NONE) { /* lea */
			*ret = (uint64_t)from->value;
			return DEFINED_CONSTANT;
		}
		if (from->kind == ISA_OPERAND_IMMEDIATE && o.shown == 2 &&
		    o.list[0].access == ISA_ACCESS_WRITE) { /* mov */
			*ret = o.list[0].size_bits == 32 ? (uint32_t)from->value
							 : (uint64_t)from->value;
			return DEFINED_CONSTANT;
		}
		return DEFINED_OTHERWISE;
	}
	return DEFINED_NOT;
}

/* Backward over all ways, up to the writes of the register: the same constant in each. */
static bool constant_at_start(struct table_search *t, uint32_t block, unsigned reg, uint64_t *ret)
{
	const struct cfg_function *f = t->f;
	uint32_t count = 0, looked = 0;
	uint64_t value = 0;
	bool found = false;

	t->walk++;
	t->work[count++] = block; /* not visited: it is the end of a loop's way too */
	while (count) {
		const struct cfg_block *b = &f->blocks[t->work[--count]];

		if (b->flags & (CFG_BLOCK_ENTRY | CFG_BLOCK_LANDING) || b->pred_count == 0)
			return false;
		for (uint32_t i = 0; i < b->pred_count; i++) {
			const uint32_t from = f->edges[f->preds[b->first_pred + i]].from;
			const struct cfg_block *p = &f->blocks[from];
			uint64_t c;

			if (from == CFG_OUTSIDE)
				return false;
			if (t->visited[from] == t->walk)
				continue;
			t->visited[from] = t->walk;
			if (++looked > CONST_BLOCKS_MAX || t->budget < p->instruction_count)
				return false;
			t->budget -= p->instruction_count;
			switch (find_definition(t, p->first_instruction,
						p->first_instruction + p->instruction_count, reg,
						&c)) {
			case DEFINED_NOT:
				t->work[count++] = from;
				break;
			case DEFINED_CONSTANT:
				if (found && c != value)
					return false;
				value = c;
				found = true;
				break;
			default:
				return false;
			}
		}
	}
	*ret = value;
	return found;
}

enum { CONSTANT_UNKNOWN, CONSTANT_YES, CONSTANT_NO };

/* The same, asked once for each block and register. */
static bool first_constant(void *arg, unsigned reg, uint64_t *ret)
{
	const struct path *p = arg;
	const uint32_t block = p->blocks[p->length - 1];
	const size_t key = (size_t)block * 16 + reg;
	uint8_t *known = &p->t->constant[key];

	if (*known == CONSTANT_YES)
		return map64_get(p->t->constants, key, ret) == 0;
	if (*known == CONSTANT_UNKNOWN) {
		*known = constant_at_start(p->t, block, reg, ret) ? CONSTANT_YES : CONSTANT_NO;
		if (*known == CONSTANT_YES && map64_put(p->t->constants, key, *ret) < 0)
			*known = CONSTANT_NO;
	}
	return *known == CONSTANT_YES;
}

/* ---- one path ---- */

/* Executes a block up to its last instruction; *ret_last is that, with its operands. */
static bool execute_block(struct path *p, uint32_t block, struct isa_instruction *ret_last,
			  struct isa_operands *ret_operands)
{
	const struct cfg_block *b = &p->t->f->blocks[block];

	for (uint32_t i = 0; i < b->instruction_count; i++) {
		/* The jump's own block is looked at in any case. */
		if ((p->t->budget == 0 && p->length > 1) || ++p->steps > PATH_STEPS_MAX) {
			p->limited = true;
			return false;
		}
		p->t->budget -= p->t->budget != 0;
		if (!table_decode(p->t, b->first_instruction + i, ret_last, ret_operands))
			return false;
		if (i + 1 < b->instruction_count)
			symbolic_step(p->t->symbolic, ret_last, ret_operands);
	}
	return true;
}

/* From the last instruction of a block on to the next block of the path. */
static void take_edge(struct path *p, const struct cfg_edge *e, const struct isa_instruction *in,
		      const struct isa_operands *o)
{
	if (in->branch == ISA_BRANCH_CONDITIONAL)
		symbolic_branch(p->t->symbolic, o->condition, e->kind == CFG_TAKEN);
	else
		symbolic_step(p->t->symbolic, in, o);
}

/* Recognises the two forms of a table jump. */
static enum verdict find_shape(const struct symbolic *s, struct value target,
			       struct table_shape *ret)
{
	const struct symbol *y = &s->symbols[target.symbol];
	const enum verdict no = target.symbol && y->first ? PATH_EXTEND : PATH_FAIL;

	if (!target.symbol) { /* the compiler knows the way: one entry, or a label */
		*ret = (struct table_shape){
			.base = target.offset, .bytes = 1, .strength = STRENGTH_COMPARED};
		return PATH_DONE;
	}
	if (s->overflow || target.scale != 1)
		return s->overflow ? PATH_FAIL : no;
	struct table_shape shape = {.base = target.offset, .bytes = 8};
	if (y->kind == SYMBOL_EXTEND && y->imm == 32 && y->arg.symbol && y->arg.scale == 1 &&
	    y->arg.offset == 0) {
		y = &s->symbols[y->arg.symbol];
		shape.bytes = 4;
	}
	if (y->kind != SYMBOL_LOAD || y->bytes != shape.bytes || (shape.bytes == 8 && shape.base))
		return no;
	const struct value index = y->arg;
	if (!index.symbol || index.scale < shape.bytes || index.scale > 64)
		return no;
	const struct range r = symbolic_range(s, (struct value){index.symbol, 1, 0});
	shape.scale = index.scale;
	shape.offset = index.offset;
	shape.low = r.strength ? r.low : 0;
	shape.high = r.high;
	shape.strength = (uint8_t)r.strength;
	/* The table must be data, at least its start. */
	if (!cfg_data_at(s->image, shape.offset + shape.scale * shape.low, shape.bytes))
		return no;
	*ret = shape;
	return r.strength != STRENGTH_COMPARED && s->symbols[index.symbol].first ? PATH_EXTEND
										 : PATH_DONE;
}

static enum verdict execute_path(struct path *p, struct table_shape *ret)
{
	struct symbolic *s = p->t->symbolic;
	struct isa_instruction in;
	struct isa_operands o;

	symbolic_start(s, p->t->b->image);
	s->constant = first_constant;
	s->constant_arg = p;
	ret->bytes = 0;
	for (unsigned i = p->length; i-- > 0;) {
		if (!execute_block(p, p->blocks[i], &in, &o))
			return PATH_FAIL;
		if (i)
			take_edge(p, &p->t->f->edges[p->edges[i]], &in, &o);
	}
	if (o.shown < 1)
		return PATH_FAIL;
	return find_shape(s, symbolic_operand(s, &o.list[0]), ret);
}

/* Adds a shape, or widens the bounds of one of the same table. */
static void add_shape(struct path *p, const struct table_shape *shape)
{
	for (unsigned i = 0; i < p->shape_count; i++) {
		struct table_shape *have = &p->shapes[i];

		if (have->bytes != shape->bytes || have->base != shape->base ||
		    have->scale != shape->scale || have->offset != shape->offset)
			continue;
		if (shape->low < have->low)
			have->low = shape->low;
		if (shape->high > have->high)
			have->high = shape->high;
		if (shape->strength < have->strength)
			have->strength = shape->strength;
		return;
	}
	if (p->shape_count == TABLE_SHAPES_MAX)
		p->complete = false;
	else
		p->shapes[p->shape_count++] = *shape;
}

/* A way that ends here: with a table whose bounds are weak, or with none. */
static void give_up(struct path *p, const struct table_shape *shape)
{
	if (shape->bytes)
		add_shape(p, shape);
	else if (!p->limited)
		p->complete = false;
}

/* Notes that the answer depends on this block and its predecessors. */
static void add_check(struct path *p, const struct cfg_block *b)
{
	struct build_jump *j = p->jump;

	for (uint32_t i = 0; i < j->check_count && i < BUILD_CHECKS_MAX; i++)
		if (j->checks[i].start == b->start)
			return;
	if (!j->checks)
		j->checks = calloc(BUILD_CHECKS_MAX, sizeof(*j->checks));
	if (j->checks && j->check_count < BUILD_CHECKS_MAX)
		j->checks[j->check_count] = (struct build_check){b->start, b->end, b->pred_count};
	j->check_count = j->checks ? j->check_count + 1 : BUILD_CHECKS_MAX + 1;
}

static void follow_path(struct path *p)
{
	const struct cfg_function *f = p->t->f;
	struct table_shape shape = {0};

	add_check(p, &f->blocks[p->blocks[p->length - 1]]);
	switch (execute_path(p, &shape)) {
	case PATH_DONE:
		add_shape(p, &shape);
		return;
	case PATH_FAIL:
		give_up(p, &shape);
		return;
	default:
		break;
	}
	const struct cfg_block *head = &f->blocks[p->blocks[p->length - 1]];
	if (shape.bytes && (p->length >= BOUND_BLOCKS_MAX || p->steps > BOUND_STEPS_MAX)) {
		add_shape(p, &shape);
		return;
	}
	p->limited |= p->length == PATH_BLOCKS_MAX;
	if (p->length == PATH_BLOCKS_MAX || head->pred_count == 0 ||
	    (head->flags & (CFG_BLOCK_ENTRY | CFG_BLOCK_LANDING))) {
		give_up(p, &shape);
		if (p->length == PATH_BLOCKS_MAX || head->pred_count == 0)
			return;
	}
	for (uint32_t i = 0; i < head->pred_count; i++) {
		const uint32_t edge = f->preds[head->first_pred + i];

		if (f->edges[edge].from == CFG_OUTSIDE)
			continue;
		if (p->steps > PATH_STEPS_MAX || p->t->budget == 0) {
			p->limited = true;
			give_up(p, &shape);
			return;
		}
		p->blocks[p->length] = f->edges[edge].from;
		p->edges[p->length++] = edge;
		follow_path(p);
		p->length--;
	}
}

unsigned table_find_shapes(struct table_search *t, struct build_jump *jump, uint32_t block,
			   struct table_shape shapes[TABLE_SHAPES_MAX], bool *ret_complete)
{
	struct path p = {.t = t,
			 .jump = jump,
			 .blocks = {block},
			 .length = 1,
			 .shapes = shapes,
			 .complete = true};

	jump->check_count = 0;
	follow_path(&p);
	*ret_complete = p.complete;
	for (unsigned i = 0; p.limited && i < p.shape_count; i++)
		if (shapes[i].bytes > 1) { /* what is not seen may go further */
			shapes[i].strength = STRENGTH_NONE;
			shapes[i].high = UINT64_MAX;
		}
	if (p.limited && p.shape_count == 0)
		*ret_complete = false;
	if (t->budget == 0)
		jump->check_count = BUILD_CHECKS_MAX + 1; /* no answer that lasts */
	return p.shape_count;
}

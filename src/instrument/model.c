/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* From a function's graph to that of its plan: what of it a counter in the copy can see. */
#include <errno.h>
#include <stdlib.h>
#include "cfg/function_graph.h"
#include "instrument/plan_state.h"
#include "util/array.h"
#include "util/num.h"

struct model {
	struct planning *p;
	struct instrument_plan *plan;
	struct cfg_loops *loops;
	uint32_t outside;
	/* Indirect jumps and their targets, in sets: the jump of block i is i, a target
	 * block_count + i. */
	uint32_t *set;
	uint32_t *jumps;    /* of each set: how many */
	uint32_t *dispatch; /* of each set: the node that its jumps lead to */
	uint32_t *leaves;   /* of each set: whether a jump may leave the function */
	uint32_t *entering; /* of each block: the node at its entrance, where there is one */
};

static bool is_indirect(const struct cfg_function *f, const struct cfg_block *b)
{
	for (uint32_t i = 0; i < b->succ_count; i++)
		if (f->edges[b->first_succ + i].kind == CFG_INDIRECT)
			return true;
	return false;
}

/* 8 times as often a loop deeper; as often as the outside with neither. */
static uint64_t expected_in(const struct model *m, uint32_t block)
{
	const uint32_t loop = block == CFG_OUTSIDE ? CFG_LOOP_NONE : m->loops->innermost[block];
	const uint32_t depth = loop == CFG_LOOP_NONE ? 0 : m->loops->loops[loop].depth;

	return (uint64_t)1 << 3 * (depth < 12 ? depth : 12);
}

static uint64_t expected(const struct model *m, uint32_t edge)
{
	const struct cfg_edge *e = &m->p->f->edges[edge];

	if (m->p->q->weights)
		return m->p->q->weights[edge];
	const uint64_t from = expected_in(m, e->from), to = expected_in(m, e->to);
	return from < to ? from : to;
}

/* Returns the plan's edge by its index, or INSTRUMENT_NONE without memory. */
static uint32_t add_edge(struct model *m, const struct instrument_edge *e)
{
	struct instrument_plan *plan = m->plan;

	if (array_grow(&plan->edges, plan->edge_count, &m->p->edge_room, sizeof(*plan->edges), 64))
		return INSTRUMENT_NONE;
	plan->edges[plan->edge_count] = *e;
	plan->edges[plan->edge_count].slot = INSTRUMENT_NONE;
	return plan->edge_count++;
}

/* An edge that count edges of the function are; of several, none's own count is known. 0, -ENOMEM.
 */
static int add_edge_of(struct model *m, const struct instrument_edge *e, uint32_t first,
		       uint32_t count)
{
	const uint32_t added = add_edge(m, e);

	if (added == INSTRUMENT_NONE)
		return -ENOMEM;
	for (uint32_t i = first; i < first + count; i++) {
		m->plan->of_edge[i] = count == 1 ? added : INSTRUMENT_NONE;
		m->plan->edges[added].weight =
			num_add_sat(m->plan->edges[added].weight, expected(m, i));
	}
	return 0;
}

/* An edge by which the copy is entered: counted there, unless others come there too. */
static int add_entering(struct model *m, uint32_t from, uint32_t edge)
{
	const uint32_t to = m->p->f->edges[edge].to;
	const struct planning_block *b = &m->p->blocks[to];
	const bool alone = m->entering[to] == to && !m->plan->through[to];

	return add_edge_of(m,
			   &(struct instrument_edge){
				   .from = from,
				   .to = m->entering[to],
				   .block = to,
				   .site = alone ? INSTRUMENT_AT_ENTRANCE : INSTRUMENT_AT_NONE,
				   .flags = b->flags_in,
			   },
			   edge, 1);
}

/* To a block or the outside, seen in the copy. */
static int add_flow(struct model *m, uint32_t from, uint32_t to, enum instrument_site site,
		    uint32_t first, uint32_t count)
{
	const struct planning_block *b = &m->p->blocks[from];
	const uint16_t returned = m->p->q->returns_flags;

	return add_edge_of(
		m,
		&(struct instrument_edge){
			.from = from,
			.to = to == CFG_OUTSIDE ? m->outside : to,
			.block = from,
			.site = (uint8_t)(m->plan->through[from] ? INSTRUMENT_AT_NONE : site),
			.flags = site == INSTRUMENT_AT_END ? b->flags_end
				 : to == CFG_OUTSIDE	   ? returned
							   : m->p->blocks[to].flags_in,
		},
		first, count);
}

/* Whether a counter, or what is left of others, tells how often a call came back to the block. */
static bool is_return_seen(const struct model *m, uint32_t block)
{
	const struct cfg_block *b = &m->p->f->blocks[block];

	if (!m->plan->through[block])
		return true;
	if (cfg_block_last(m->p->f, b)->branch == ISA_BRANCH_CALL)
		return false;
	const uint32_t next = m->p->f->edges[b->first_succ].to;
	return m->entering[next] == next;
}

static int add_call(struct model *m, uint32_t block)
{
	const struct cfg_block *b = &m->p->f->blocks[block];
	const struct cfg_edge *e = &m->p->f->edges[b->first_succ];

	if (b->succ_count == 0 || e->to == CFG_OUTSIDE)
		return add_flow(m, block, CFG_OUTSIDE, INSTRUMENT_AT_END, b->first_succ,
				b->succ_count);
	/* Else what did not return is taken to be none. */
	if (is_return_seen(m, e->to) &&
	    add_edge(m, &(struct instrument_edge){.from = block,
						  .to = m->outside,
						  .block = block,
						  .site = INSTRUMENT_AT_NONE,
						  .net = true}) == INSTRUMENT_NONE)
		return -ENOMEM;
	return add_entering(m, block, b->first_succ);
}

/* Targets outside of the function are not seen, but by what is left of the others. */
static int add_leaving(struct model *m, uint32_t node, uint32_t block)
{
	const struct cfg_block *b = &m->p->f->blocks[block];
	uint32_t leaving = 0, last = 0, added = 0;

	for (uint32_t i = b->first_succ; i < b->first_succ + b->succ_count; i++)
		if (m->p->f->edges[i].to == CFG_OUTSIDE) {
			leaving++;
			last = i;
		}
	if (leaving && !m->leaves[planning_set(m->set, block)]++)
		added = add_edge(m, &(struct instrument_edge){.from = node,
							      .to = m->outside,
							      .block = block,
							      .site = INSTRUMENT_AT_NONE});
	if (added == INSTRUMENT_NONE)
		return -ENOMEM;
	if (leaving == 1 && node == block)
		m->plan->of_edge[last] = added;
	return 0;
}

static int add_indirect(struct model *m, uint32_t block)
{
	const struct cfg_block *b = &m->p->f->blocks[block];
	const uint32_t node = m->dispatch[planning_set(m->set, block)];
	int r = 0;

	if (node != block)
		r = add_flow(m, block, node, INSTRUMENT_AT_END, b->first_succ, 0);
	for (uint32_t i = b->first_succ; i < b->first_succ + b->succ_count && !r; i++)
		if (node == block && m->p->f->edges[i].to != CFG_OUTSIDE)
			r = add_entering(m, block, i);
	return r ? r : add_leaving(m, node, block);
}

static int add_block(struct model *m, uint32_t block)
{
	const struct cfg_function *f = m->p->f;
	const struct cfg_block *b = &f->blocks[block];
	const enum isa_branch branch = cfg_block_last(f, b)->branch;
	const struct cfg_edge *e = &f->edges[b->first_succ];

	if (branch == ISA_BRANCH_CALL)
		return add_call(m, block);
	if (is_indirect(f, b))
		return add_indirect(m, block);
	if (m->plan->through[block])
		return add_entering(m, block, b->first_succ);
	if (branch == ISA_BRANCH_CONDITIONAL) {
		int r = add_flow(m, block, e[0].to, INSTRUMENT_AT_NEXT, b->first_succ, 1);

		return r ? r
			 : add_flow(m, block, e[1].to, INSTRUMENT_AT_TAKEN, b->first_succ + 1, 1);
	}
	return add_flow(m, block, b->succ_count ? e->to : CFG_OUTSIDE, INSTRUMENT_AT_END,
			b->first_succ, b->succ_count);
}

/* Made up nodes: where jumps with common targets meet, and where causes meet at an entrance. */
static int add_meeting(struct model *m, uint32_t block)
{
	const struct cfg_function *f = m->p->f;
	const uint32_t set = planning_set(m->set, f->block_count + block);
	const struct planning_block *b = &m->p->blocks[block];
	uint32_t added = 0;

	if (m->entering[block] != block)
		added = add_edge(m, &(struct instrument_edge){.from = m->entering[block],
							      .to = block,
							      .block = block,
							      .site = INSTRUMENT_AT_ENTRANCE,
							      .flags = b->flags_in,
							      .weight = 1});
	if (added != INSTRUMENT_NONE && (b->causes & PLANNING_INDIRECT) && m->jumps[set] > 1) {
		const bool alone = m->entering[block] == block;

		added = add_edge(m, &(struct instrument_edge){.from = m->dispatch[set],
							      .to = m->entering[block],
							      .block = block,
							      .site = alone ? INSTRUMENT_AT_ENTRANCE
									    : INSTRUMENT_AT_NONE,
							      .flags = b->flags_in,
							      .weight = 1});
	}
	return added == INSTRUMENT_NONE ? -ENOMEM : 0;
}

/* Sets of indirect jumps, and the nodes. */
static void name_nodes(struct model *m)
{
	const struct cfg_function *f = m->p->f;

	m->outside = f->block_count;
	m->plan->node_count = f->block_count + 1;
	for (uint32_t i = 0; i < 2 * f->block_count; i++)
		m->set[i] = i;
	for (uint32_t i = 0; i < f->edge_count; i++)
		if (f->edges[i].kind == CFG_INDIRECT)
			m->set[planning_set(m->set, f->edges[i].from)] =
				planning_set(m->set, f->block_count + f->edges[i].to);
	for (uint32_t i = 0; i < f->block_count; i++) {
		const uint8_t causes = m->p->blocks[i].causes;
		const bool several = (causes & (causes - 1)) || m->p->blocks[i].runs > 1;
		const uint32_t set = planning_set(m->set, i);

		m->entering[i] = several ? m->plan->node_count++ : i;
		if (!is_indirect(f, &f->blocks[i]))
			continue;
		if (m->jumps[set]++ == 0)
			m->dispatch[set] = i;
		else if (m->jumps[set] == 2)
			m->dispatch[set] = m->plan->node_count++;
	}
}

static int fill_model(struct model *m)
{
	const struct cfg_function *f = m->p->f;
	int r = 0;

	name_nodes(m);
	for (uint32_t i = 0; i < f->edge_count; i++)
		m->plan->of_edge[i] = INSTRUMENT_NONE;
	for (uint32_t i = 0; i < f->block_count && !r; i++)
		r = add_block(m, i);
	for (uint32_t i = 0; i < f->block_count && !r; i++)
		r = add_meeting(m, i);
	for (uint32_t i = 0; i < f->edge_count && !r; i++)
		if (f->edges[i].from == CFG_OUTSIDE)
			r = add_entering(m, m->outside, i);
	return r;
}

int planning_model(struct planning *p)
{
	const uint32_t n = p->f->block_count;
	struct model m = {.p = p, .plan = p->plan};
	int r = -ENOMEM;

	p->plan->of_edge = calloc(p->f->edge_count, sizeof(*p->plan->of_edge));
	m.set = calloc(8 * (size_t)n, sizeof(*m.set));
	if (!p->plan->of_edge || !m.set)
		goto out;
	m.jumps = m.set + 2 * (size_t)n;
	m.dispatch = m.jumps + 2 * (size_t)n;
	m.leaves = m.dispatch + 2 * (size_t)n;
	m.entering = calloc(n, sizeof(*m.entering));
	if (m.entering)
		r = cfg_loops_of_function(p->f, &m.loops);
	if (!r)
		r = fill_model(&m);
out:
	cfg_loops_free(m.loops);
	free(m.entering);
	free(m.set);
	return r;
}

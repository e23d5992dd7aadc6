/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * D-cache, DTLB, store forwarding and the store buffer: what the access itself looks like - fixed,
 * striding or anywhere - bounds how often it can miss.
 */
#include <math.h>
#include "analyze/culprits/culprits_flow.h"
#include "analyze/culprits/culprits_rules.h"
#include "analyze/culprits/culprits_weights.h"

/* Of executions of an access: how many can be the first in a line or page. */
struct reach {
	double lines, pages;
	double line_weight, page_weight;
};
static const struct reach stack_reach = {REACH_STACK}, fixed_reach = {REACH_FIXED},
			  unknown_reach = {REACH_UNKNOWN};

/* Whether it reads the table of the jump that ends its block, by memory or into the register that
 * is jumped through: of as many places as there are ways, which lie side by side. */
static bool reads_jump_table(const struct culprit_view *v, uint32_t at)
{
	const struct cfg_function *f = v->function;
	const struct cfg_block *b = &f->blocks[culprit_block_of(v, at)];
	uint32_t last = b->first_instruction + b->instruction_count - 1;

	if (b->succ_count == 0 || b->succ_count > JUMP_TABLE_MOST ||
	    f->edges[b->first_succ].kind != CFG_INDIRECT)
		return false;
	if (at == last)
		return true;
	const struct isa_operand *through = &v->operands[last].list[0];
	return through->kind == ISA_OPERAND_REGISTER &&
	       culprit_writes_register(&v->operands[at], through->reg);
}

/*
 * Fixed: the same line again, so it is gone only when others took its place. A stride brings a new
 * line every so often; prefetching hides some, but not their bandwidth. Anything else may miss
 * every time; it misses the TLB less often than the cache, as a page has 64 lines.
 */
static struct reach find_reach(const struct culprit_view *v, uint32_t at,
			       const struct isa_operand *memory, bool written_before)
{
	int64_t stride;

	if (memory->base == ISA_REG_STACK && memory->index == ISA_REG_NONE)
		return stack_reach;
	enum culprit_motion motion = culprit_find_motion(v, at, memory, &stride);
	if (motion == CULPRIT_MOTION_FIXED || written_before || reads_jump_table(v, at))
		return fixed_reach;
	if (motion == CULPRIT_MOTION_UNKNOWN)
		return unknown_reach;
	double bytes = fabs((double)stride);
	double pages = fmin(1, bytes / v->limits.page_bytes);
	bool wide = bytes >= v->limits.page_bytes / STRIDE_WIDE;
	return (struct reach){fmin(1, bytes / v->limits.line_bytes), pages,
			      wide ? STRIDE_WIDE_LINE : STRIDE_LINE,
			      wide ? STRIDE_WIDE_PAGE : STRIDE_PAGE * pages};
}

/* Of accesses to any of so many alike: those that something with room for fewer lets pass. */
static double beyond(double room, double used)
{
	return used > room ? 1 - room / used : 0;
}

/* What the lines and pages that a load goes to say: cycles that it waits for each on average, if
 * it goes to all alike and nothing else is in the way. */
static void weigh_footprint(const struct culprit_limits *l, const struct data_footprint *f,
			    struct reach *r)
{
	double lines = isinf(f->lines.most) ? INFINITY : f->lines.likely;
	double pages = isinf(f->pages.most) ? INFINITY : f->pages.likely;
	double misses = beyond(l->cache_lines[0], lines) * (l->l2 - l->l1) +
			beyond(l->cache_lines[1], lines) * (l->l3 - l->l2) +
			beyond(l->cache_lines[2], lines) * (l->memory / BUSY_MEMORY - l->l3);
	double walks = beyond(l->dtlb_pages[0], pages) * l->dtlb_cycles +
		       beyond(l->dtlb_pages[1], pages) * l->page_walk / WALK_LOADS;
	double both = r->line_weight + r->page_weight;

	misses *= r->lines;
	walks *= r->pages;
	if (misses + walks > 0) {
		r->line_weight = both * misses / (misses + walks);
		r->page_weight = both * walks / (misses + walks);
	}
}

/*
 * What fits with room to spare is gone only when others took its place, as with a fixed place.
 * Half of the cache or of the translations is what a load is granted.
 */
static void bound_footprint(const struct culprit_limits *l, const struct data_footprint *f,
			    struct reach *r)
{
	if (ROOM_TO_SPARE * f->lines.most <= l->cache_lines[0]) {
		r->lines = fmin(r->lines, fixed_reach.lines);
		r->line_weight = fmin(r->line_weight, fixed_reach.line_weight);
	}
	if (ROOM_TO_SPARE * f->pages.most <= l->dtlb_pages[1])
		r->pages = fmin(r->pages, fixed_reach.pages);
	if (ROOM_TO_SPARE * f->pages.most <= l->dtlb_pages[0])
		r->page_weight = fmin(r->page_weight, fixed_reach.page_weight);
}

/* The smallest cache that has room for so many lines; 4: memory. */
static uint8_t level_of(const struct culprit_limits *l, double lines)
{
	return lines <= l->cache_lines[1] ? 2 : lines <= l->cache_lines[2] ? 3 : 4;
}

/* The level that the latency tells, within what the lines allow. */
static void set_level(const struct culprit_limits *l, const struct data_footprint *f,
		      struct culprit *c)
{
	uint8_t least = level_of(l, f->lines.least), most = level_of(l, f->lines.most);

	if (f->lines.least <= l->cache_lines[0])
		return; /* it would be in the first: others put it somewhere */
	if (least == most)
		c->level = least;
	else if (c->level)
		c->level = c->level < least ? least : c->level > most ? most : c->level;
	c->level_sure = least == most;
}

/* Where the line came from at best, by the cycles that a miss takes. */
static uint8_t find_level(const struct culprit_limits *l, double cycles)
{
	if (cycles <= 0)
		return 0;
	if (cycles > LEVEL_SLACK * l->l3)
		return 4;
	return cycles > LEVEL_SLACK * l->l2 ? 3 : 2;
}

static void suspect_misses(struct culprit_case *c, uint32_t at, double share, double weight,
			   const struct isa_operand *memory, bool written_before)
{
	const struct culprit_view *v = c->view;
	const struct culprit_limits *l = &v->limits;
	uint64_t blame = v->function->instructions[at].address;
	struct reach r = find_reach(v, at, memory, written_before);
	const struct data_footprint *data =
		v->data && v->data[at].windows > 0 ? &v->data[at] : NULL;

	if (data) {
		weigh_footprint(l, data, &r);
		bound_footprint(l, data, &r);
	}
	double misses = share * r.lines, walks = share * r.pages, walk = walks * l->page_walk;
	if (v->events && v->events[at].cache_misses >= 0)
		misses = fmin(misses, EVENT_SLACK * share * v->events[at].cache_misses);
	if (v->events && v->events[at].dtlb_misses >= 0)
		walk = fmin(walks, EVENT_SLACK * share * v->events[at].dtlb_misses) * l->page_walk;
	else if (data && ROOM_TO_SPARE * data->pages.most > l->dtlb_pages[0])
		walk = fmax(walk, share * l->dtlb_cycles);
	struct culprit_suspect *s = culprit_suspect(c, CULPRIT_DCACHE, misses * l->memory,
						    weight * r.line_weight, blame);
	if (s && misses > 0)
		s->culprit.level = find_level(l, c->cycles / fmin(1, misses));
	if (s && data)
		set_level(l, data, &s->culprit);
	culprit_suspect(c, CULPRIT_DTLB, walk, weight * r.page_weight, blame);
}

void culprit_suspect_data(struct culprit_case *c, uint32_t at, double share, double weight)
{
	const struct culprit_view *v = c->view;
	const struct isa_operand *load = culprit_memory(&v->operands[at], ISA_ACCESS_READS);
	bool written_before = false;

	if (!load || share <= 0)
		return;
	uint32_t store = culprit_find_blocked_store(v, at, load, &written_before);
	if (store != CULPRIT_NOBODY)
		culprit_suspect(c, CULPRIT_STORE_FORWARD, share * v->limits.store_forward_blocked,
				FORWARD_WEIGHT * weight, v->function->instructions[store].address);
	suspect_misses(c, at, share, weight, load, written_before);
}

void culprit_suspect_producers(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const struct isa_operands *o = &v->operands[c->at];

	if (culprit_memory(o, ISA_ACCESS_READS))
		return;
	for (unsigned i = 0; i < o->count; i++) {
		if (o->list[i].kind != ISA_OPERAND_REGISTER ||
		    !(o->list[i].access & ISA_ACCESS_READS) || o->list[i].reg == ISA_REG_STACK)
			continue;
		uint32_t producer = culprit_find_writer(v, c->at, o->list[i].reg);
		if (producer != CULPRIT_NOBODY)
			culprit_suspect_data(c, producer, 1, PRODUCER_WEIGHT);
	}
}

void culprit_suspect_stores(struct culprit_case *c, uint32_t at, double share)
{
	const struct culprit_view *v = c->view;
	const struct isa_operand *store = culprit_memory(&v->operands[at], ISA_ACCESS_WRITES);
	uint64_t blame = v->function->instructions[at].address;

	if (!store || share <= 0)
		return;
	struct reach r = find_reach(v, at, store, false);
	bool loads = culprit_memory(&v->operands[at], ISA_ACCESS_READS);
	/* A full buffer drains as fast as lines come: each store waits for a line at most. */
	culprit_suspect(c, CULPRIT_STORE_BUFFER, share * r.lines * v->limits.memory,
			(loads ? STORE_AFTER_LOAD : STORE_ALONE) * r.line_weight, blame);
	if (!loads)
		culprit_suspect(c, CULPRIT_DTLB, share * r.pages * v->limits.page_walk,
				r.page_weight, blame);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * D-cache, DTLB, store forwarding and the store buffer: what the access itself looks like - fixed,
 * striding or anywhere - bounds how often it can miss.
 */
#include <math.h>
#include "analyze/culprits_flow.h"
#include "analyze/culprits_rules.h"

/* Of executions of an access: how many can be the first in a line or page. */
struct reach {
	double lines, pages;
	double line_weight, page_weight;
};

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
		return (struct reach){0.05, 0.01, 0.02, 0.005};
	enum culprit_motion motion = culprit_find_motion(v, at, memory, &stride);
	if (motion == CULPRIT_MOTION_FIXED || written_before)
		return (struct reach){0.3, 0.05, 0.1, 0.02};
	if (motion == CULPRIT_MOTION_UNKNOWN)
		return (struct reach){1, 1, 1, 0.25};
	double bytes = fabs((double)stride);
	double pages = fmin(1, bytes / v->limits.page_bytes);
	return (struct reach){fmin(1, bytes / v->limits.line_bytes), pages,
			      bytes >= v->limits.page_bytes / 2 ? 0.6 : 1,
			      bytes >= v->limits.page_bytes / 2 ? 1 : 0.25 * pages};
}

/* Where the line came from at best, by the cycles that a miss takes. */
static uint8_t find_level(const struct culprit_limits *l, double cycles)
{
	if (cycles <= 0)
		return 0;
	if (cycles > 1.6 * l->l3)
		return 4;
	return cycles > 1.6 * l->l2 ? 3 : 2;
}

static void suspect_misses(struct culprit_case *c, uint32_t at, double share, double weight,
			   const struct isa_operand *memory, bool written_before)
{
	const struct culprit_view *v = c->view;
	const struct culprit_limits *l = &v->limits;
	uint64_t blame = v->function->instructions[at].address;
	struct reach r = find_reach(v, at, memory, written_before);
	double misses = share * r.lines, walks = share * r.pages;
	if (v->events && v->events[at].cache_misses >= 0)
		misses = fmin(misses, 1.5 * share * v->events[at].cache_misses);
	if (v->events && v->events[at].dtlb_misses >= 0)
		walks = fmin(walks, 1.5 * share * v->events[at].dtlb_misses);
	struct culprit_suspect *s = culprit_suspect(c, CULPRIT_DCACHE, misses * l->memory,
						    weight * r.line_weight, blame);
	if (s && misses > 0)
		s->culprit.level = find_level(l, c->cycles / fmin(1, misses));
	culprit_suspect(c, CULPRIT_DTLB, walks * l->page_walk, weight * r.page_weight, blame);
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
				3 * weight, v->function->instructions[store].address);
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
			culprit_suspect_data(c, producer, 1, 0.5);
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
			(loads ? 0.2 : 1) * r.line_weight, blame);
	if (!loads)
		culprit_suspect(c, CULPRIT_DTLB, share * r.pages * v->limits.page_walk,
				r.page_weight, blame);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The maximum spanning tree (Kruskal 1956): edges outside of it have counters. */
#include <errno.h>
#include <stdlib.h>
#include "instrument/plan_state.h"
#include "util/array.h"
#include "util/num.h"

/* What a counter costs, in quarters of the cheapest: one that needs a jump more, one that keeps
 * the flags. */
#define COST	   4
#define COST_TAKEN 6
#define COST_FLAGS 4 /* times as much */

struct candidate {
	uint64_t rank; /* ascending: what is to be in the tree first */
	uint32_t edge;
};

static uint64_t rank(const struct instrument_edge *e)
{
	if (e->site == INSTRUMENT_AT_NONE)
		return 0;
	const uint64_t cost =
		(e->site == INSTRUMENT_AT_TAKEN ? COST_TAKEN : COST) * (e->flags ? COST_FLAGS : 1);
	const uint64_t total = num_mul_sat(e->weight, cost);
	return UINT64_MAX - (total == UINT64_MAX ? UINT64_MAX - 1 : total);
}

static int compare_candidates(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return a->rank != b->rank ? NUM_ORDER(a->rank, b->rank) : NUM_ORDER(a->edge, b->edge);
}

static int choose(struct planning *p, const struct candidate *candidates, uint32_t *parent)
{
	struct instrument_plan *plan = p->plan;

	for (uint32_t i = 0; i < plan->edge_count; i++) {
		struct instrument_edge *e = &plan->edges[candidates[i].edge];
		const uint32_t a = planning_set(parent, e->from), b = planning_set(parent, e->to);

		if (a != b) {
			parent[a] = b;
			continue;
		}
		if (e->site == INSTRUMENT_AT_NONE)
			return planning_refuse(p, INSTRUMENT_WHY_SHARED);
		e->slot = plan->slot_count++;
		plan->at[e->block][e->site] = candidates[i].edge;
	}
	return 0;
}

int planning_place(struct planning *p)
{
	struct instrument_plan *plan = p->plan;
	struct candidate *candidates = calloc(plan->edge_count, sizeof(*candidates));
	uint32_t *parent = calloc(plan->node_count, sizeof(*parent));
	int r = -ENOMEM;

	plan->at = calloc(p->f->block_count, sizeof(*plan->at));
	if (!candidates || !parent || !plan->at)
		goto out;
	for (uint32_t i = 0; i < plan->node_count; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < p->f->block_count; i++)
		for (int s = 0; s < INSTRUMENT_SITES; s++)
			plan->at[i][s] = INSTRUMENT_NONE;
	for (uint32_t i = 0; i < plan->edge_count; i++)
		candidates[i] = (struct candidate){rank(&plan->edges[i]), i};
	array_sort(candidates, plan->edge_count, sizeof(*candidates), compare_candidates);
	r = choose(p, candidates, parent);
out:
	free(candidates);
	free(parent);
	return r;
}

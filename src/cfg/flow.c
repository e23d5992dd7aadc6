/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/flow.h"

#include <errno.h>
#include "cfg/circulation.h"
#include "cfg/flow_islands.h"
#include "cfg/numbers.h"

/*
 * Each node is an arc between its two ends, so that its count can have a cost. An estimate becomes
 * two arcs: one of capacity count, with the negative cost of a missing execution; and one without
 * limit for what exceeds it. As the first is never dearer than the second, a flow of least cost
 * fills it first.
 */
struct repair {
	const struct cfg_flow_problem *problem;
	const struct cfg_graph *graph;
	const struct cfg_closure *closure;
	uint32_t element_count; /* nodes, edges, then the closure's edges */
	struct circulation_arc *arcs;
	uint32_t *element; /* of each arc */
	size_t arc_count;
};

static int check_estimates(const struct cfg_flow_estimate *list, uint32_t count, uint64_t *sum)
{
	for (uint32_t i = 0; list && i < count; i++) {
		if (list[i].increase > CFG_FLOW_COST_MAX || list[i].decrease > CFG_FLOW_COST_MAX)
			return -EINVAL;
		if (list[i].count > CFG_FLOW_SUM_MAX - *sum)
			return -ERANGE;
		*sum += list[i].count;
	}
	return 0;
}

static void add_arc(struct repair *p, uint32_t element, uint32_t from, uint32_t to, int64_t cost,
		    int64_t capacity)
{
	p->element[p->arc_count] = element;
	p->arcs[p->arc_count++] = (struct circulation_arc){from, to, cost, capacity, 0};
}

static void add_element(struct repair *p, uint32_t element, uint32_t from, uint32_t to,
			const struct cfg_flow_estimate *known)
{
	if (known && known->count)
		add_arc(p, element, from, to, -(int64_t)known->decrease, (int64_t)known->count);
	add_arc(p, element, from, to, known ? known->increase : 0, CIRCULATION_UNLIMITED);
}

static int make_arcs(struct repair *p, struct arena *scratch)
{
	const struct cfg_flow_problem *q = p->problem;
	const struct cfg_graph *g = p->graph;
	const struct cfg_closure *c = p->closure;
	uint32_t n = g->node_count;

	p->element_count = n + g->edge_count + c->count;
	p->arcs = arena_alloc(scratch, 2 * (size_t)p->element_count * sizeof(*p->arcs));
	p->element = numbers_new(scratch, 2 * (size_t)p->element_count, 0);
	if (!p->arcs || !p->element)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		add_element(p, i, 2 * i, 2 * i + 1, q->nodes ? &q->nodes[i] : NULL);
	for (uint32_t e = 0; e < g->edge_count; e++)
		add_element(p, n + e, 2 * g->from[e] + 1, 2 * g->to[e],
			    q->edges ? &q->edges[e] : NULL);
	for (uint32_t i = 0; i < c->count; i++)
		add_element(p, n + g->edge_count + i, 2 * c->from[i] + 1, 2 * c->to[i], NULL);
	return 0;
}

static double cost_of(const struct cfg_flow_estimate *known, uint64_t flow)
{
	if (!known)
		return 0;
	return flow > known->count ? (double)(flow - known->count) * known->increase
				   : (double)(known->count - flow) * known->decrease;
}

static void add_costs(const struct repair *p, struct cfg_flow *f)
{
	const struct cfg_flow_problem *q = p->problem;

	for (uint32_t i = 0; q->nodes && i < p->graph->node_count; i++)
		f->cost += cost_of(&q->nodes[i], f->nodes[i]);
	for (uint32_t i = 0; q->edges && i < p->graph->edge_count; i++)
		f->cost += cost_of(&q->edges[i], f->edges[i]);
}

static int solve(struct repair *p, struct cfg_flow *f, uint64_t *flows)
{
	const struct cfg_flow_problem *q = p->problem;

	int r = circulation_solve(2 * p->graph->node_count, p->arcs, p->arc_count,
				  q->max_steps ? q->max_steps : CFG_FLOW_STEPS, &f->steps,
				  &f->optimal);
	if (r)
		return r;
	for (size_t i = 0; i < p->arc_count; i++)
		flows[p->element[i]] += (uint64_t)p->arcs[i].flow;
	if (q->join_islands)
		r = flow_join_islands(p->graph, p->closure, flows);
	f->nodes = flows;
	f->edges = flows + p->graph->node_count;
	add_costs(p, f);
	return r;
}

static int repair(struct repair *p, struct arena *memory, struct arena *scratch,
		  struct cfg_flow **ret)
{
	struct cfg_flow *f = arena_alloc(memory, sizeof(*f));
	uint64_t *flows;
	int r = f ? make_arcs(p, scratch) : -ENOMEM;

	if (r)
		return r;
	f->memory = memory;
	flows = arena_alloc(memory, (size_t)p->element_count * sizeof(*flows));
	r = flows ? solve(p, f, flows) : -ENOMEM;
	if (!r)
		*ret = f;
	return r;
}

int cfg_flow_new(const struct cfg_flow_problem *problem, struct cfg_flow **ret)
{
	const struct cfg_graph *g = problem->graph;
	struct repair p = {.problem = problem, .graph = g};
	struct arena *memory = NULL, *scratch = NULL;
	struct cfg_closure *closure = NULL;
	uint64_t sum = 0;
	int r = check_estimates(problem->nodes, g->node_count, &sum);

	if (!r)
		r = check_estimates(problem->edges, g->edge_count, &sum);
	if (!r)
		r = cfg_closure_new(g, &closure);
	if (r)
		return r;
	p.closure = closure;
	memory = arena_new(SIZE_MAX);
	scratch = arena_new(SIZE_MAX);
	r = memory && scratch ? repair(&p, memory, scratch, ret) : -ENOMEM;
	cfg_closure_free(closure);
	arena_free(scratch);
	if (r)
		arena_free(memory);
	return r;
}

void cfg_flow_free(struct cfg_flow *f)
{
	if (f)
		arena_free(f->memory);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/counts.h"
#include <errno.h>
#include <stdlib.h>

struct solving {
	const struct instrument_plan *plan;
	int64_t *flow;	  /* of each edge */
	int64_t *balance; /* of each node: what is known to enter it less what is known to leave */
	uint32_t *first, *ends; /* edges of the tree at each node: ends[first[n] .. first[n + 1]) */
	uint32_t *left;		/* of these, how many are not known */
	uint32_t *stack;	/* nodes with one */
	bool *known;		/* edges */
};

static int add_to(int64_t *sum, int64_t value)
{
	return __builtin_add_overflow(*sum, value, sum) ? -ERANGE : 0;
}

/* An edge's flow is known now. */
static int settle(struct solving *s, uint32_t edge, int64_t flow)
{
	const struct instrument_edge *e = &s->plan->edges[edge];

	if (flow == INT64_MIN)
		return -ERANGE;
	s->flow[edge] = flow;
	s->known[edge] = true;
	const int r = add_to(&s->balance[e->to], flow);
	return r ? r : add_to(&s->balance[e->from], -flow);
}

static int take_known(struct solving *s, const uint64_t *counters,
		      const struct instrument_presence *presences, size_t presence_count)
{
	const struct instrument_plan *plan = s->plan;
	int r = 0;

	for (uint32_t i = 0; i < plan->edge_count && !r; i++) {
		const uint32_t slot = plan->edges[i].slot;

		if (slot != INSTRUMENT_NONE)
			r = counters[slot] > INT64_MAX ? -ERANGE
						       : settle(s, i, (int64_t)counters[slot]);
	}
	for (size_t i = 0; i < presence_count && !r; i++) {
		const uint32_t block = cfg_function_block_at(plan->function, presences[i].address);
		const int64_t more = (int64_t)presences[i].started - (int64_t)presences[i].ended;

		if (block == CFG_OUTSIDE)
			continue;
		r = add_to(&s->balance[block], more);
		if (!r)
			r = add_to(&s->balance[plan->function->block_count], -more);
	}
	return r;
}

static void list_tree(struct solving *s)
{
	const struct instrument_plan *plan = s->plan;

	for (uint32_t i = 0; i < plan->edge_count; i++)
		if (plan->edges[i].slot == INSTRUMENT_NONE) {
			s->left[plan->edges[i].from]++;
			s->left[plan->edges[i].to]++;
		}
	for (uint32_t n = 0; n < plan->node_count; n++) {
		s->first[n + 1] = s->first[n] + s->left[n];
		s->stack[n] = s->first[n];
	}
	for (uint32_t i = 0; i < plan->edge_count; i++)
		if (plan->edges[i].slot == INSTRUMENT_NONE) {
			s->ends[s->stack[plan->edges[i].from]++] = i;
			s->ends[s->stack[plan->edges[i].to]++] = i;
		}
}

/* Leaves of the tree first: of a node with one edge that is not known, the others tell it. */
static int solve(struct solving *s)
{
	const struct instrument_plan *plan = s->plan;
	uint32_t top = 0;

	list_tree(s);
	for (uint32_t n = 0; n < plan->node_count; n++)
		if (s->left[n] == 1)
			s->stack[top++] = n;
	while (top) {
		const uint32_t n = s->stack[--top];

		for (uint32_t i = s->first[n]; i < s->first[n + 1] && s->left[n]; i++) {
			const uint32_t edge = s->ends[i];
			const struct instrument_edge *e = &plan->edges[edge];
			const uint32_t other = e->from == n ? e->to : e->from;

			if (s->known[edge])
				continue;
			if (s->balance[n] == INT64_MIN)
				return -ERANGE;
			const int r =
				settle(s, edge, e->from == n ? s->balance[n] : -s->balance[n]);
			if (r)
				return r;
			s->left[n]--;
			if (--s->left[other] == 1)
				s->stack[top++] = other;
		}
	}
	return 0;
}

static uint64_t as_count(int64_t flow, uint32_t *inconsistent)
{
	*inconsistent += flow < 0;
	return flow < 0 ? 0 : (uint64_t)flow;
}

/* Sums cannot pass 2^63 here: what a node's edges bring is in its balance, which did not. */
static int report(const struct solving *s, const struct instrument_presence *presences,
		  size_t presence_count, struct instrument_counts *c)
{
	const struct instrument_plan *plan = s->plan;
	const struct cfg_function *f = plan->function;
	int64_t *blocks = calloc(f->block_count, sizeof(*blocks));
	int r = blocks ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < plan->edge_count && !r; i++) {
		if (plan->edges[i].to < f->block_count)
			r = add_to(&blocks[plan->edges[i].to], s->flow[i]);
		c->inconsistent += s->flow[i] < 0 && !plan->edges[i].net;
	}
	for (size_t i = 0; i < presence_count && !r; i++) {
		const uint32_t block = cfg_function_block_at(f, presences[i].address);

		if (block != CFG_OUTSIDE && f->blocks[block].start == presences[i].address)
			r = add_to(&blocks[block],
				   (int64_t)presences[i].started - (int64_t)presences[i].ended);
	}
	for (uint32_t i = 0; i < f->block_count && !r; i++)
		c->blocks[i] = as_count(blocks[i], &c->inconsistent);
	for (uint32_t i = 0; i < f->edge_count && !r; i++) {
		const uint32_t edge = plan->of_edge[i];
		uint32_t counted = 0; /* above, already */

		c->edges[i] = edge == INSTRUMENT_NONE ? INSTRUMENT_UNKNOWN
						      : as_count(s->flow[edge], &counted);
	}
	free(blocks);
	return r;
}

int instrument_counts_new(const struct instrument_plan *plan, const uint64_t *counters,
			  const struct instrument_presence *presences, size_t presence_count,
			  struct instrument_counts **ret)
{
	const size_t nodes = plan->node_count, edges = plan->edge_count;
	struct instrument_counts *c = calloc(1, sizeof(*c));
	struct solving s = {.plan = plan,
			    .flow = calloc(edges + nodes, sizeof(int64_t)),
			    .first = calloc(3 * nodes + 1 + 2 * edges, sizeof(uint32_t)),
			    .known = calloc(edges, sizeof(bool))};
	int r = -ENOMEM;

	if (!c || !s.flow || !s.first || !s.known)
		goto out;
	s.balance = s.flow + edges;
	s.left = s.first + nodes + 1;
	s.stack = s.left + nodes;
	s.ends = s.stack + nodes;
	c->blocks = calloc(plan->function->block_count, sizeof(*c->blocks));
	c->edges = calloc(plan->function->edge_count, sizeof(*c->edges));
	if (!c->blocks || !c->edges)
		goto out;
	r = take_known(&s, counters, presences, presence_count);
	if (!r)
		r = solve(&s);
	if (!r)
		r = report(&s, presences, presence_count, c);
out:
	free(s.flow);
	free(s.first);
	free(s.known);
	if (r)
		instrument_counts_free(c);
	else
		*ret = c;
	return r;
}

void instrument_counts_free(struct instrument_counts *c)
{
	if (!c)
		return;
	free(c->blocks);
	free(c->edges);
	free(c);
}

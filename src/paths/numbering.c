/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "paths/numbering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "paths/numbering_state.h"

static bool has_trait(const struct paths_problem *p, uint32_t edge, enum paths_trait trait)
{
	return p->traits && (p->traits[edge] & trait);
}

/* An edge that leads back is cut; or all that leave the node that it leads to are, and the search
 * is to begin again. */
static int cut_back(struct numbering *s, uint32_t edge)
{
	const struct cfg_graph *g = s->graph;
	const uint32_t to = g->to[edge];

	if (!has_trait(s->problem, edge, PATHS_WHOLE)) {
		s->n->edges[edge].cut = PATHS_CUT_BACK;
		return 0;
	}
	for (uint32_t k = g->first_out[to]; k < g->first_out[to + 1]; k++)
		if (has_trait(s->problem, g->out[k], PATHS_WHOLE))
			return -EINVAL;
	s->is_opened[to] = true;
	return -EAGAIN;
}

enum { SEARCH_NEW, SEARCH_OPEN, SEARCH_DONE };

/* Depth-first from a node: nodes are listed as it leaves them, which is each after all that it
 * leads to by edges that are not cut. */
static int search_from(struct numbering *s, uint32_t root, uint8_t *state)
{
	const struct cfg_graph *g = s->graph;
	uint32_t *stack = s->scratch, *cursor = stack + g->node_count, top = 0;
	int r = 0;

	if (state[root] != SEARCH_NEW)
		return 0;
	state[root] = SEARCH_OPEN;
	cursor[root] = g->first_out[root];
	stack[top++] = root;
	while (top && !r) {
		const uint32_t n = stack[top - 1];

		if (cursor[n] == g->first_out[n + 1]) {
			state[n] = SEARCH_DONE;
			s->order[s->order_count++] = n;
			top--;
			continue;
		}
		const uint32_t e = g->out[cursor[n]++], to = g->to[e];
		if (s->n->edges[e].cut)
			continue;
		if (state[to] == SEARCH_OPEN) {
			r = cut_back(s, e);
		} else if (state[to] == SEARCH_NEW) {
			state[to] = SEARCH_OPEN;
			cursor[to] = g->first_out[to];
			stack[top++] = to;
		}
	}
	return r;
}

/* What leads to the exit leads no path back. */
static bool is_opened(const struct numbering *s, uint32_t edge)
{
	return s->is_opened[s->graph->from[edge]] && s->graph->to[edge] != s->graph->exit;
}

static int search_once(struct numbering *s, uint8_t *state)
{
	const struct cfg_graph *g = s->graph;
	int r = 0;

	s->order_count = 0;
	memset(state, SEARCH_NEW, g->node_count);
	for (uint32_t e = 0; e < g->edge_count; e++)
		s->n->edges[e].cut = is_opened(s, e) ? PATHS_CUT_BACK : PATHS_CUT_NOT;
	for (uint32_t e = 0; e < g->edge_count && !r; e++)
		if (is_opened(s, e))
			r = search_from(s, g->to[e], state);
	return r ?: search_from(s, g->entry, state);
}

/* Back edges are cut. */
static int search(struct numbering *s)
{
	const struct cfg_graph *g = s->graph;
	uint8_t *state = calloc(g->node_count, sizeof(*state));
	int r = state ? -EAGAIN : -ENOMEM;

	while (r == -EAGAIN)
		r = search_once(s, state);
	for (uint32_t e = 0; e < g->edge_count && !r; e++)
		if (s->n->edges[e].cut)
			s->n->is_begin[g->to[e]] = true;
	free(state);
	return r;
}

/* How many paths begin with each node; of the entry: all. */
static void count_onward(struct numbering *s)
{
	const struct cfg_graph *g = s->graph;

	s->onward[g->exit] = 1;
	for (uint32_t i = 0; i < s->order_count; i++) {
		const uint32_t n = s->order[i];
		long double sum = n == g->exit;

		for (uint32_t k = g->first_out[n]; k < g->first_out[n + 1]; k++)
			sum += s->n->edges[g->out[k]].cut ? 1 : s->onward[g->to[g->out[k]]];
		for (uint32_t w = 0; n == g->entry && w < g->node_count; w++)
			sum += s->n->is_begin[w] ? s->onward[w] : 0;
		s->onward[n] = sum;
	}
}

/* How many ways lead to each node from where paths begin. */
static void count_ways(struct numbering *s)
{
	const struct cfg_graph *g = s->graph;

	for (uint32_t n = 0; n < g->node_count; n++)
		s->ways[n] = n == g->entry || s->n->is_begin[n];
	for (uint32_t i = s->order_count; i-- > 0;) {
		const uint32_t n = s->order[i];

		for (uint32_t k = g->first_out[n]; k < g->first_out[n + 1]; k++)
			if (!s->n->edges[g->out[k]].cut)
				s->ways[g->to[g->out[k]]] += s->ways[n];
	}
}

/* How many paths fewer there would be without the edge, but for those that then begin behind it,
 * as others may begin there anyway. */
static long double gain(const struct numbering *s, uint32_t edge)
{
	const struct cfg_graph *g = s->graph;
	const uint32_t from = g->from[edge], to = g->to[edge];

	if (s->n->edges[edge].cut || from == g->entry || to == g->exit ||
	    has_trait(s->problem, edge, PATHS_WHOLE) || has_trait(s->problem, edge, PATHS_STILL))
		return 0;
	return s->ways[from] * (s->onward[to] - 1);
}

/* The coldest of those that help at least half as much as any. */
static uint32_t choose_cut(const struct numbering *s)
{
	const uint64_t *weights = s->problem->weights;
	uint32_t coldest = CFG_NODE_NONE;
	long double most = 0;

	for (uint32_t e = 0; e < s->graph->edge_count; e++) {
		const long double of_edge = gain(s, e);

		most = of_edge > most ? of_edge : most;
	}
	for (uint32_t e = 0; most > 0 && e < s->graph->edge_count; e++)
		if (gain(s, e) >= most / 2 &&
		    (coldest == CFG_NODE_NONE || weights[e] < weights[coldest]))
			coldest = e;
	return coldest;
}

static int cut_until_few(struct numbering *s)
{
	for (count_onward(s); s->onward[s->graph->entry] > s->problem->max; count_onward(s)) {
		/* Nobody can tell infinities apart. */
		if (s->onward[s->graph->entry] > NUMBERING_PATHS_MAX)
			return -E2BIG;
		count_ways(s);
		const uint32_t e = choose_cut(s);
		if (e == CFG_NODE_NONE)
			return -E2BIG;
		s->n->edges[e].cut = PATHS_CUT_MANY;
		s->n->is_begin[s->graph->to[e]] = true;
		s->n->cut_many++;
	}
	return 0;
}

/* Of a node's paths those by its first edge have the lowest numbers, and so on. */
static void give_values(struct numbering *s)
{
	const struct cfg_graph *g = s->graph;
	struct paths_numbering *n = s->n;

	for (uint32_t i = 0; i < g->node_count; i++)
		n->paths[i] = (uint32_t)s->onward[i];
	for (uint32_t i = 0; i < s->order_count; i++) {
		const uint32_t node = s->order[i];
		uint32_t before = 0;

		for (uint32_t k = g->first_out[node]; k < g->first_out[node + 1]; k++) {
			const uint32_t e = g->out[k];

			n->values[e] = before;
			before += n->edges[e].cut ? 1 : n->paths[g->to[e]];
		}
		for (uint32_t w = 0; node == g->entry && w < g->node_count; w++)
			if (n->is_begin[w]) {
				n->begins[w] = before;
				before += n->paths[w];
			}
	}
	n->count = n->paths[g->entry];
}

static int check(const struct paths_problem *p)
{
	const struct cfg_graph *g = p->graph;

	if (p->max > PATHS_COUNT_MAX || g->first_out[g->exit] != g->first_out[g->exit + 1] ||
	    g->first_in[g->entry] != g->first_in[g->entry + 1])
		return -EINVAL;
	for (uint32_t e = 0; e < g->edge_count; e++)
		if (has_trait(p, e, PATHS_STILL) && (g->to[e] != g->exit || g->from[e] == g->entry))
			return -EINVAL;
	return 0;
}

static struct paths_numbering *allocate(const struct cfg_graph *g)
{
	struct paths_numbering *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->graph = g;
	n->edges = calloc(g->edge_count + 1, sizeof(*n->edges));
	n->paths = calloc(g->node_count, sizeof(*n->paths));
	n->values = calloc(g->edge_count + 1, sizeof(*n->values));
	n->begins = calloc(g->node_count, sizeof(*n->begins));
	n->is_begin = calloc(g->node_count, sizeof(*n->is_begin));
	if (n->edges && n->paths && n->values && n->begins && n->is_begin)
		return n;
	paths_numbering_free(n);
	return NULL;
}

void paths_numbering_free(struct paths_numbering *n)
{
	if (!n)
		return;
	free(n->edges);
	free(n->paths);
	free(n->values);
	free(n->begins);
	free(n->is_begin);
	free(n);
}

int paths_number(const struct paths_problem *p, struct paths_numbering **ret)
{
	const struct cfg_graph *g = p->graph;
	struct numbering s = {.problem = p, .graph = g};
	int r = check(p);

	if (r)
		return r;
	s.n = allocate(g);
	s.scratch = calloc(3 * (size_t)g->node_count, sizeof(*s.scratch));
	s.onward = calloc(2 * (size_t)g->node_count, sizeof(*s.onward));
	s.is_opened = calloc(g->node_count, sizeof(*s.is_opened));
	r = s.n && s.scratch && s.onward && s.is_opened ? 0 : -ENOMEM;
	if (!r) {
		s.order = s.scratch + 2 * (size_t)g->node_count;
		s.ways = s.onward + g->node_count;
		r = search(&s);
	}
	r = r ?: cut_until_few(&s);
	if (!r) {
		give_values(&s);
		r = numbering_spread(&s);
	}
	free(s.scratch);
	free(s.onward);
	free(s.is_opened);
	if (r)
		paths_numbering_free(s.n);
	else
		*ret = s.n;
	return r;
}

/* The edge of a node by which the path of that number of its own goes on; CFG_NODE_NONE: none. */
static uint32_t find_edge(const struct paths_numbering *n, uint32_t node, uint32_t number)
{
	const struct cfg_graph *g = n->graph;

	for (uint32_t k = g->first_out[node]; k < g->first_out[node + 1]; k++) {
		const uint32_t e = g->out[k];
		const uint32_t size = n->edges[e].cut ? 1 : n->paths[g->to[e]];

		if (number >= n->values[e] && number - n->values[e] < size)
			return e;
	}
	return CFG_NODE_NONE;
}

uint32_t paths_find(const struct paths_numbering *n, uint32_t number, uint32_t *ret_begin,
		    uint32_t *edges)
{
	const struct cfg_graph *g = n->graph;
	uint32_t node = g->entry, count = 0;

	if (number >= n->count)
		return 0;
	if (find_edge(n, node, number) == CFG_NODE_NONE)
		for (node = 0; !n->is_begin[node] || number < n->begins[node] ||
			       number - n->begins[node] >= n->paths[node];)
			node++;
	*ret_begin = node;
	number -= node == g->entry ? 0 : n->begins[node];
	while (node != g->exit) {
		const uint32_t e = find_edge(n, node, number);

		edges[count++] = e;
		if (n->edges[e].cut)
			break;
		number -= n->values[e];
		node = g->to[e];
	}
	return count;
}

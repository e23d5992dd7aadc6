/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include "cfg/graph.h"
#include "cfg/numbers.h"

/*
 * Finds the strongly connected regions by Tarjan's algorithm (SIAM J. Computing 1972) with an
 * explicit stack; a region's root is the node of it that the search met first.
 */
struct regions {
	const struct cfg_graph *graph;
	uint32_t *number; /* of a node in order of meeting, from 1; 0: not met */
	uint32_t *low;	  /* the least number that it reaches within its region, as far as seen */
	uint32_t *root;	  /* of the node's region; CFG_NODE_NONE while that is open */
	uint32_t *path, *next_edge;
	uint32_t *open; /* met nodes without a region, in order of meeting */
	uint32_t path_size, open_size, met;
	bool *leaves, *entered; /* of a region's root: edges lead out of, into the region */
};

static void meet(struct regions *s, uint32_t node)
{
	s->number[node] = s->low[node] = ++s->met;
	s->next_edge[node] = s->graph->first_out[node];
	s->path[s->path_size++] = node;
	s->open[s->open_size++] = node;
}

/* All edges of the path's last node are seen. */
static void leave(struct regions *s)
{
	uint32_t node = s->path[--s->path_size], member;

	if (s->low[node] == s->number[node]) {
		do {
			member = s->open[--s->open_size];
			s->root[member] = node;
		} while (member != node);
	}
	if (s->path_size) {
		uint32_t above = s->path[s->path_size - 1];

		if (s->low[node] < s->low[above])
			s->low[above] = s->low[node];
	}
}

static void search(struct regions *s, uint32_t start)
{
	const struct cfg_graph *g = s->graph;

	if (s->number[start])
		return;
	meet(s, start);
	while (s->path_size) {
		uint32_t node = s->path[s->path_size - 1], to;

		if (s->next_edge[node] == g->first_out[node + 1]) {
			leave(s);
			continue;
		}
		to = g->to[g->out[s->next_edge[node]++]];
		if (!s->number[to])
			meet(s, to);
		else if (s->root[to] == CFG_NODE_NONE && s->number[to] < s->low[node])
			s->low[node] = s->number[to];
	}
}

static int find_regions(struct regions *s, struct arena *scratch)
{
	const struct cfg_graph *g = s->graph;
	uint32_t n = g->node_count;

	s->number = numbers_new(scratch, n, 0);
	s->low = numbers_new(scratch, n, 0);
	s->root = numbers_new(scratch, n, CFG_NODE_NONE);
	s->path = numbers_new(scratch, n, 0);
	s->next_edge = numbers_new(scratch, n, 0);
	s->open = numbers_new(scratch, n, 0);
	s->leaves = arena_alloc(scratch, n);
	s->entered = arena_alloc(scratch, n);
	if (!s->number || !s->low || !s->root || !s->path || !s->next_edge || !s->open ||
	    !s->leaves || !s->entered)
		return -ENOMEM;
	search(s, g->entry);
	for (uint32_t i = 0; i < n; i++) {
		if (g->first_in[i] == g->first_in[i + 1])
			search(s, i);
	}
	for (uint32_t i = 0; i < n; i++)
		search(s, i);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		uint32_t a = s->root[g->from[e]], b = s->root[g->to[e]];

		if (a != b)
			s->leaves[a] = s->entered[b] = true;
	}
	return 0;
}

/* The node that closes the cycle of a region, or its only one. */
static uint32_t last_node(const struct regions *s, uint32_t root)
{
	const struct cfg_graph *g = s->graph;

	for (uint32_t i = g->first_in[root]; i < g->first_in[root + 1]; i++) {
		uint32_t from = g->from[g->in[i]];

		if (s->root[from] == root)
			return from;
	}
	return root;
}

static int add_edges(struct cfg_closure *c, const struct regions *s)
{
	const struct cfg_graph *g = s->graph;
	uint32_t *from, *to, n = 1;

	for (uint32_t i = 0; i < g->node_count; i++) {
		if (s->root[i] == i)
			n += !s->leaves[i] + !s->entered[i];
	}
	from = numbers_new(c->memory, n, g->exit);
	to = numbers_new(c->memory, n, g->exit);
	if (!from || !to)
		return -ENOMEM;
	to[0] = g->entry;
	n = 1;
	for (uint32_t i = 0; i < g->node_count; i++) {
		if (s->root[i] == i && !s->leaves[i] && i != s->root[g->exit])
			from[n++] = last_node(s, i);
		if (s->root[i] == i && !s->entered[i] && i != s->root[g->entry] &&
		    i != s->root[g->exit])
			to[n++] = i;
	}
	c->from = from;
	c->to = to;
	c->count = n;
	return 0;
}

int cfg_closure_new(const struct cfg_graph *g, struct cfg_closure **ret)
{
	struct arena *memory = arena_new(SIZE_MAX), *scratch = arena_new(SIZE_MAX);
	struct cfg_closure *c = memory ? arena_alloc(memory, sizeof(*c)) : NULL;
	struct regions s = {.graph = g};
	int r = c && scratch ? find_regions(&s, scratch) : -ENOMEM;

	if (!r) {
		c->memory = memory;
		r = add_edges(c, &s);
	}
	arena_free(scratch);
	if (r) {
		arena_free(memory);
		return r;
	}
	*ret = c;
	return 0;
}

void cfg_closure_free(struct cfg_closure *c)
{
	if (c)
		arena_free(c->memory);
}

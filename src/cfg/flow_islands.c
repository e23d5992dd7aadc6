/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/flow_islands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct islands {
	struct cfg_graph *closed; /* the graph with its closure's edges, which come last */
	uint64_t *nodes, *edges;  /* flows */
	bool *connected;
	uint32_t *stack;
	uint32_t *forth, *back; /* the edge by which the way from, to the exit reaches a node */
};

static int close_graph(const struct cfg_graph *g, const struct cfg_closure *c,
		       struct cfg_graph **ret)
{
	size_t count = (size_t)g->edge_count + c->count;
	uint32_t *from = calloc(count, sizeof(*from)), *to = calloc(count, sizeof(*to));
	int r = -ENOMEM;

	if (from && to) {
		memcpy(from, g->from, g->edge_count * sizeof(*from));
		memcpy(to, g->to, g->edge_count * sizeof(*to));
		memcpy(from + g->edge_count, c->from, c->count * sizeof(*from));
		memcpy(to + g->edge_count, c->to, c->count * sizeof(*to));
		r = cfg_graph_new(g->node_count, g->entry, g->exit, from, to, (uint32_t)count, ret);
	}
	free(from);
	free(to);
	return r;
}

/* Marks what flow leads to. */
static void connect(struct islands *s, uint32_t start)
{
	const struct cfg_graph *g = s->closed;
	uint32_t size = 0;

	if (s->connected[start])
		return;
	s->connected[start] = true;
	s->stack[size++] = start;
	while (size) {
		uint32_t node = s->stack[--size];

		for (uint32_t i = g->first_out[node]; i < g->first_out[node + 1]; i++) {
			uint32_t to = g->to[g->out[i]];

			if (!s->edges[g->out[i]] || s->connected[to])
				continue;
			s->connected[to] = true;
			s->stack[size++] = to;
		}
	}
}

/*
 * For each node the last edge of a way from the exit (or, backward, the first of one to it) with
 * the fewest edges without flow. Breadth-first with two levels at a time: what is as near goes to
 * `near`, what is one edge further to `far`.
 */
static int find_ways(struct islands *s, bool forward, uint32_t *way)
{
	const struct cfg_graph *g = s->closed;
	const uint32_t *first = forward ? g->first_out : g->first_in;
	const uint32_t *list = forward ? g->out : g->in, *end = forward ? g->to : g->from;
	uint32_t room = g->edge_count + 1, near_count = 1, far_count = 0;
	uint32_t *near = calloc(room, sizeof(*near)), *far = calloc(room, sizeof(*far)), *swap;
	bool *done = calloc(g->node_count, sizeof(*done)), enough = near && far && done;

	if (enough)
		near[0] = UINT32_MAX; /* the way to the exit itself */
	while (enough && near_count) {
		while (near_count) {
			uint32_t edge = near[--near_count];
			uint32_t node = edge == UINT32_MAX ? g->exit : end[edge];

			if (done[node])
				continue;
			done[node] = true;
			way[node] = edge;
			for (uint32_t i = first[node]; i < first[node + 1]; i++) {
				if (s->edges[list[i]])
					near[near_count++] = list[i];
				else
					far[far_count++] = list[i];
			}
		}
		swap = near;
		near = far;
		far = swap;
		near_count = far_count;
		far_count = 0;
	}
	free(near);
	free(far);
	free(done);
	return enough ? 0 : -ENOMEM;
}

static void add_way(struct islands *s, uint32_t node)
{
	const struct cfg_graph *g = s->closed;

	s->nodes[node]++;
	for (uint32_t n = node; n != g->exit; n = g->from[s->forth[n]]) {
		s->edges[s->forth[n]]++;
		s->nodes[g->from[s->forth[n]]]++;
	}
	/* The exit is counted once, by the way there. */
	for (uint32_t n = node; n != g->exit; n = g->to[s->back[n]]) {
		s->edges[s->back[n]]++;
		if (g->to[s->back[n]] != g->exit)
			s->nodes[g->to[s->back[n]]]++;
	}
}

static bool has_islands(const struct islands *s)
{
	for (uint32_t n = 0; n < s->closed->node_count; n++) {
		if (s->nodes[n] && !s->connected[n])
			return true;
	}
	return false;
}

static int join(struct islands *s)
{
	const struct cfg_graph *g = s->closed;

	connect(s, g->exit);
	if (!has_islands(s))
		return 0;
	int r = find_ways(s, true, s->forth);
	if (!r)
		r = find_ways(s, false, s->back);
	for (uint32_t n = 0; n < g->node_count && !r; n++) {
		if (!s->nodes[n] || s->connected[n])
			continue;
		add_way(s, n);
		/* The way may have met other islands: all that it passes is connected now. */
		for (uint32_t m = n; m != g->exit; m = g->from[s->forth[m]])
			connect(s, m);
		for (uint32_t m = n; m != g->exit; m = g->to[s->back[m]])
			connect(s, m);
	}
	return r;
}

int flow_join_islands(const struct cfg_graph *g, const struct cfg_closure *c, uint64_t *flows)
{
	struct islands s = {.nodes = flows, .edges = flows + g->node_count};
	size_t n = g->node_count;

	s.connected = calloc(n, sizeof(*s.connected));
	s.stack = calloc(n, sizeof(*s.stack));
	s.forth = calloc(n, sizeof(*s.forth));
	s.back = calloc(n, sizeof(*s.back));
	int r = s.connected && s.stack && s.forth && s.back ? close_graph(g, c, &s.closed)
							    : -ENOMEM;
	if (!r)
		r = join(&s);
	cfg_graph_free(s.closed);
	free(s.connected);
	free(s.stack);
	free(s.forth);
	free(s.back);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_RANDOM_GRAPH_H
#define CULPRIT_TESTS_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/graph.h"

/* Graphs for the tests of the passes: all shapes, always the same ones. */

static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((*state >> 33) * bound) >> 31);
}

struct edge_list {
	uint32_t from[4096], to[4096], count;
};

static inline void add_edge(struct edge_list *l, uint32_t from, uint32_t to)
{
	l->from[l->count] = from;
	l->to[l->count++] = to;
}

/* Like code: falls through, jumps forward, loops, switches, returns, and sometimes none of them. */
static inline void random_code(uint64_t *state, uint32_t nodes, struct edge_list *l)
{
	for (uint32_t n = 0; n + 1 < nodes; n++) {
		uint32_t kind = random_below(state, 20);

		if (kind < 14)
			add_edge(l, n, n + 1);
		if (kind >= 8 && kind < 18)
			add_edge(l, n, random_below(state, nodes));
		for (uint32_t i = 0; kind == 18 && i < 5; i++)
			add_edge(l, n, random_below(state, nodes));
		if (kind == 19)
			add_edge(l, n, nodes - 1);
	}
}

/* The graph of a seed: up to `nodes` nodes, edges anywhere or like code; the last node is the exit.
 */
static inline struct cfg_graph *random_graph(uint64_t seed, uint32_t max_nodes)
{
	uint64_t state = seed * 2654435761u + 99;
	uint32_t nodes = 2 + random_below(&state, max_nodes - 1);
	struct edge_list l = {.count = 0};
	struct cfg_graph *g = NULL;

	if (seed % 2) {
		random_code(&state, nodes, &l);
	} else {
		uint32_t edges = random_below(&state, 3 * nodes);

		for (uint32_t e = 0; e < edges; e++)
			add_edge(&l, random_below(&state, nodes), random_below(&state, nodes));
	}
	if (cfg_graph_new(nodes, 0, nodes - 1, l.from, l.to, l.count, &g))
		abort();
	return g;
}

/*
 * A function of many blocks: a chain; with `nested`, each block may also jump back as far as the
 * block is from the middle, which nests loops count / 2 deep.
 */
static inline struct cfg_graph *long_graph(uint32_t count, int nested)
{
	uint32_t *from = calloc(2 * (size_t)count, sizeof(*from)), edges = 0;
	uint32_t *to = calloc(2 * (size_t)count, sizeof(*to));
	struct cfg_graph *g = NULL;

	for (uint32_t i = 0; i + 1 < count; i++) {
		from[edges] = i;
		to[edges++] = i + 1;
		if (nested && i >= count / 2) {
			from[edges] = i;
			to[edges++] = count - 1 - i;
		}
	}
	if (cfg_graph_new(count, 0, count - 1, from, to, edges, &g))
		abort();
	free(from);
	free(to);
	return g;
}

#define RANDOM_NODES_MAX 64

/* Which nodes the entry reaches, or which reach it, when one node is taken away. */
static inline void random_graph_reach(const struct cfg_graph *g, bool backward, uint32_t without,
				      bool reached[RANDOM_NODES_MAX])
{
	const uint32_t *from = backward ? g->to : g->from, *to = backward ? g->from : g->to;
	bool again = g->entry != without;

	memset(reached, 0, RANDOM_NODES_MAX);
	reached[g->entry] = again;
	while (again) {
		again = false;
		for (uint32_t e = 0; e < g->edge_count; e++)
			if (reached[from[e]] && !reached[to[e]] && to[e] != without)
				reached[to[e]] = again = true;
	}
}

#endif

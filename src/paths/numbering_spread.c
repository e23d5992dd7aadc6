/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where a path's number is added up (Ball, Efficiently counting program events with support for
 * on-line queries, TOPLAS 1994). Each node gets a height; an edge adds its value and the height of
 * where it comes from, less that of where it leads to. Along a path all heights but those of its
 * two ends cancel out, and those are taken into account where it begins and ends, which costs
 * nothing. Heights are chosen so that the edges of a maximum spanning tree add nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include "paths/numbering_state.h"
#include "util/num.h"

/* The largest height: registers stay far from any other function's numbers. */
#define HEIGHT_MAX (1 << 20)

struct spreading {
	struct numbering *s;
	/* Union-find: of each node its parent and its height above it; the parent's size. */
	uint32_t *parent, *size;
	int64_t *height;
	uint32_t *hot; /* edges, the hottest first */
	uint32_t hot_count;
};

static uint32_t find_root(const struct spreading *w, uint32_t n, int64_t *ret_height)
{
	int64_t height = 0;

	for (; w->parent[n] != n; n = w->parent[n])
		height += w->height[n];
	*ret_height = height;
	return n;
}

/* Makes the edge add nothing, if that is still free. */
static void join(struct spreading *w, uint32_t edge)
{
	const struct cfg_graph *g = w->s->graph;
	int64_t from, to;
	const uint32_t a = find_root(w, g->from[edge], &from), b = find_root(w, g->to[edge], &to);
	/* height(to) = height(from) + value, in one tree */
	const int64_t b_above_a = from + w->s->n->values[edge] - to;

	if (a == b)
		return;
	if (w->size[a] >= w->size[b]) {
		w->parent[b] = a;
		w->height[b] = b_above_a;
		w->size[a] += w->size[b];
	} else {
		w->parent[a] = b;
		w->height[a] = -b_above_a;
		w->size[b] += w->size[a];
	}
}

static int compare_weights(const void *pa, const void *pb, void *arg)
{
	const uint64_t *weights = arg;
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return NUM_ORDER(weights[b], weights[a]) ?: NUM_ORDER(a, b);
}

/* Edges at the entry and at the exit, and cut ones, add for free: only others are listed. */
static void list_hot(struct spreading *w)
{
	const struct cfg_graph *g = w->s->graph;

	for (uint32_t e = 0; e < g->edge_count; e++)
		if (!w->s->n->edges[e].cut && g->from[e] != g->entry && g->to[e] != g->exit)
			w->hot[w->hot_count++] = e;
	qsort_r(w->hot, w->hot_count, sizeof(*w->hot), compare_weights,
		(void *)w->s->problem->weights);
}

static void join_still(struct spreading *w)
{
	const uint8_t *traits = w->s->problem->traits;

	for (uint32_t e = 0; traits && e < w->s->graph->edge_count; e++)
		if (traits[e] & PATHS_STILL)
			join(w, e);
}

/* The exit's height is 0, as the entry's is. False: one is larger than it may be. */
static bool take_heights(const struct spreading *w, int64_t *heights)
{
	const struct cfg_graph *g = w->s->graph;
	int64_t of_exit;
	const uint32_t root = find_root(w, g->exit, &of_exit);

	for (uint32_t n = 0; n < g->node_count; n++) {
		const uint32_t own = find_root(w, n, &heights[n]);

		heights[n] -= own == root ? of_exit : 0;
		if (heights[n] > HEIGHT_MAX || heights[n] < -HEIGHT_MAX)
			return false;
	}
	return true;
}

static void begin(struct spreading *w)
{
	for (uint32_t n = 0; n < w->s->graph->node_count; n++) {
		w->parent[n] = n;
		w->size[n] = 1;
		w->height[n] = 0;
	}
	join_still(w);
}

/* What ends and begins a path is taken into account there. */
static void set_edges(const struct numbering *s, const int64_t *heights)
{
	const struct cfg_graph *g = s->graph;

	for (uint32_t e = 0; e < g->edge_count; e++) {
		struct paths_edge *edge = &s->n->edges[e];
		const uint32_t to = g->to[e];
		const int64_t value = (int64_t)s->n->values[e] + heights[g->from[e]];

		edge->add = (int32_t)(edge->cut ? value : value - heights[to]);
		if (edge->cut)
			edge->begin = (int32_t)(s->n->begins[to] - heights[to]);
	}
}

int numbering_spread(struct numbering *s)
{
	const size_t nodes = s->graph->node_count;
	struct spreading w = {.s = s,
			      .parent = calloc(2 * nodes, sizeof(*w.parent)),
			      .height = calloc(2 * nodes, sizeof(*w.height)),
			      .hot = calloc(s->graph->edge_count + 1, sizeof(*w.hot))};
	int r = w.parent && w.height && w.hot ? 0 : -ENOMEM;

	if (!r) {
		w.size = w.parent + nodes;
		begin(&w);
		list_hot(&w);
		for (uint32_t i = 0; i < w.hot_count; i++)
			join(&w, w.hot[i]);
		/* Those that must add nothing are at no height above the number of paths. */
		if (!take_heights(&w, w.height + nodes)) {
			begin(&w);
			take_heights(&w, w.height + nodes);
		}
		set_edges(s, w.height + nodes);
	}
	free(w.parent);
	free(w.height);
	free(w.hot);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/loops.h"

#include <errno.h>
#include "cfg/numbers.h"

/*
 * A depth-first search classifies the edges: back edges are listed at their header; forward and
 * cross edges at the lowest common ancestor of their ends. Then the nodes are visited in reverse
 * preorder: the edges listed at a node are added to the graph, and the nodes that reach the node's
 * back edges are its loop, which is collapsed to one node. An edge that is not added before its
 * lowest common ancestor is visited cannot lead the search out of the header's subtree, which makes
 * it almost linear.
 */
struct search {
	const struct cfg_graph *graph;
	uint32_t *order;  /* the nodes in preorder */
	uint32_t *parent; /* in the depth-first tree */
	bool *met;
	uint32_t *path, *cursor, *finished; /* finished: forest of nodes joined to their parents */
	uint32_t count;
	/* Lists of edges: by header, by common ancestor (node_count: none, as of two trees). */
	uint32_t *back, *across, *edge_next;

	uint32_t *loop_of;   /* the header of the innermost loop around a node, not of its own */
	uint32_t *collapsed; /* forest of nodes joined to their loop's header */
	uint32_t *entering;  /* lists of edges entered from elsewhere into a collapsed node */
	uint32_t *stamp;     /* the header whose loop took it */
	bool *is_header;
	uint32_t *begins, *ends; /* for irreducible(): ways up that begin below, end at a node */
};

static int allocate(struct search *s, struct arena *scratch)
{
	uint32_t n = s->graph->node_count;
	uint32_t **none[] = {&s->order,	 &s->parent,  &s->path,	    &s->cursor, &s->back,
			     &s->across, &s->loop_of, &s->entering, &s->stamp};
	uint32_t **own[] = {&s->finished, &s->collapsed};

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		*none[i] = numbers_new(scratch, (size_t)n + 1, CFG_NODE_NONE);
		if (!*none[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		*own[i] = numbers_new(scratch, (size_t)n + 1, 0);
		if (!*own[i])
			return -ENOMEM;
		for (uint32_t node = 0; node <= n; node++)
			(*own[i])[node] = node;
	}
	s->edge_next = numbers_new(scratch, s->graph->edge_count, CFG_NODE_NONE);
	s->begins = numbers_new(scratch, n, 0);
	s->ends = numbers_new(scratch, n, 0);
	s->met = arena_alloc(scratch, n);
	s->is_header = arena_alloc(scratch, n);
	return s->edge_next && s->begins && s->ends && s->met && s->is_header ? 0 : -ENOMEM;
}

/* The root of a node's tree, with the way to it halved. */
static uint32_t find(uint32_t *forest, uint32_t node)
{
	while (forest[node] != node) {
		forest[node] = forest[forest[node]];
		node = forest[node];
	}
	return node;
}

static void add_edge(struct search *s, uint32_t *lists, uint32_t list, uint32_t edge)
{
	s->edge_next[edge] = lists[list];
	lists[list] = edge;
}

static void meet(struct search *s, uint32_t node, uint32_t parent, uint32_t *size)
{
	s->met[node] = true;
	s->parent[node] = parent;
	s->order[s->count++] = node;
	s->cursor[node] = s->graph->first_out[node];
	s->path[(*size)++] = node;
}

static void search_from(struct search *s, uint32_t root)
{
	const struct cfg_graph *g = s->graph;
	uint32_t size = 0;

	if (s->met[root])
		return;
	meet(s, root, CFG_NODE_NONE, &size);
	while (size) {
		uint32_t node = s->path[size - 1], edge, to, ancestor;

		if (s->cursor[node] == g->first_out[node + 1]) {
			s->finished[node] = --size ? s->path[size - 1] : g->node_count;
			continue;
		}
		edge = g->out[s->cursor[node]++];
		to = g->to[edge];
		if (!s->met[to]) {
			meet(s, to, node, &size);
			continue;
		}
		/* The nearest ancestor that is still on the path; `to` itself, of a back edge. */
		ancestor = find(s->finished, to);
		if (ancestor == to)
			add_edge(s, s->back, to, edge);
		else
			add_edge(s, s->across, ancestor, edge);
	}
}

static void search_all(struct search *s)
{
	const struct cfg_graph *g = s->graph;

	search_from(s, g->entry);
	for (uint32_t i = 0; i < g->node_count; i++) {
		if (g->first_in[i] == g->first_in[i + 1])
			search_from(s, i);
	}
	for (uint32_t i = 0; i < g->node_count; i++)
		search_from(s, i);
}

/*
 * The edges that wait at an ancestor of both ends. Each leads into all loops that have its target
 * by now, and none of these has its source: they have an entry beside their headers, except the one
 * that the target itself is the header of.
 */
static void enter_edges(struct search *s, uint32_t ancestor)
{
	uint32_t next;

	for (uint32_t edge = s->across[ancestor]; edge != CFG_NODE_NONE; edge = next) {
		uint32_t to = s->graph->to[edge], top = find(s->collapsed, to);

		next = s->edge_next[edge];
		if (top != to) {
			s->begins[to]++;
			s->ends[top]++;
		}
		add_edge(s, s->entering, top, edge);
	}
}

static void take(struct search *s, uint32_t node, uint32_t header, uint32_t *size)
{
	node = find(s->collapsed, node);
	if (node == header || s->stamp[node] == header)
		return;
	s->stamp[node] = header;
	s->path[(*size)++] = node;
}

/* All that reaches a back edge of the header from below it. */
static void find_loop(struct search *s, uint32_t header)
{
	const uint32_t *from = s->graph->from;
	uint32_t size = 0;

	for (uint32_t e = s->back[header]; e != CFG_NODE_NONE; e = s->edge_next[e]) {
		s->is_header[header] = true;
		take(s, from[e], header, &size);
	}
	for (uint32_t i = 0; i < size; i++) {
		uint32_t node = s->path[i];

		take(s, s->parent[node], header, &size);
		for (uint32_t e = s->entering[node]; e != CFG_NODE_NONE; e = s->edge_next[e])
			take(s, from[e], header, &size);
	}
	for (uint32_t i = 0; i < size; i++) {
		s->loop_of[s->path[i]] = header;
		s->collapsed[s->path[i]] = header;
	}
}

/* Carries the entries counted by enter_edges up the loops. Uses `begins` of a header as the sum. */
static void mark_irreducible(struct search *s, struct cfg_loop *loops, const uint32_t *number)
{
	uint32_t *arrived = s->stamp;

	for (uint32_t i = 0; i < s->count; i++)
		arrived[i] = 0;
	for (uint32_t i = s->count; i-- > 0;) {
		uint32_t node = s->order[i], header = s->loop_of[node];

		if (arrived[node])
			loops[number[node]].irreducible = true;
		if (header != CFG_NODE_NONE)
			arrived[header] += arrived[node] + s->begins[node] - s->ends[node];
	}
}

static void fill_loops(struct search *s, struct cfg_loop *loops, const uint32_t *number,
		       uint32_t *innermost)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t node = s->order[i], header = s->loop_of[node];
		uint32_t around = header == CFG_NODE_NONE ? CFG_LOOP_NONE : number[header];
		struct cfg_loop *loop;

		innermost[node] = around;
		if (!s->is_header[node])
			continue;
		innermost[node] = number[node];
		loop = &loops[number[node]];
		loop->header = node;
		loop->parent = around;
		loop->depth = around == CFG_LOOP_NONE ? 1 : loops[around].depth + 1;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		if (innermost[i] != CFG_LOOP_NONE)
			loops[innermost[i]].members++;
	}
}

/* Sums up what is inside of each loop, and gives the places. next: an entry for each loop. */
static void nest_loops(struct cfg_loop *loops, uint32_t count, uint32_t *next)
{
	uint32_t outermost = 0;

	for (uint32_t i = count; i-- > 0;) {
		if (loops[i].parent == CFG_LOOP_NONE)
			continue;
		loops[loops[i].parent].members += loops[i].members;
		loops[loops[i].parent].inside += loops[i].inside + 1;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *from =
			loops[i].parent == CFG_LOOP_NONE ? &outermost : &next[loops[i].parent];

		loops[i].place = *from;
		*from += loops[i].inside + 1;
		next[i] = loops[i].place + 1;
	}
}

static int fill(struct search *s, struct cfg_loops *l, struct arena *scratch)
{
	uint32_t n = s->graph->node_count, count = 0;
	uint32_t *number = numbers_new(scratch, n, CFG_LOOP_NONE);
	uint32_t *innermost = numbers_new(l->memory, n, CFG_LOOP_NONE);
	uint32_t *next;
	struct cfg_loop *loops;

	for (uint32_t i = 0; i < s->count && number; i++) {
		if (s->is_header[s->order[i]])
			number[s->order[i]] = count++;
	}
	loops = arena_alloc(l->memory, ((size_t)count + 1) * sizeof(*loops));
	next = numbers_new(scratch, count + 1, 0);
	if (!number || !innermost || !loops || !next)
		return -ENOMEM;
	fill_loops(s, loops, number, innermost);
	nest_loops(loops, count, next);
	mark_irreducible(s, loops, number);
	l->loops = loops;
	l->loop_count = count;
	l->innermost = innermost;
	return 0;
}

int cfg_loops_new(const struct cfg_graph *g, struct cfg_loops **ret)
{
	struct arena *memory = arena_new(SIZE_MAX), *scratch = arena_new(SIZE_MAX);
	struct cfg_loops *l = memory ? arena_alloc(memory, sizeof(*l)) : NULL;
	struct search s = {.graph = g};
	int r = l && scratch ? allocate(&s, scratch) : -ENOMEM;

	if (!r) {
		l->memory = memory;
		search_all(&s);
		for (uint32_t i = s.count; i-- > 0;) {
			enter_edges(&s, s.order[i]);
			find_loop(&s, s.order[i]);
		}
		r = fill(&s, l, scratch);
	}
	arena_free(scratch);
	if (r) {
		arena_free(memory);
		return r;
	}
	*ret = l;
	return 0;
}

void cfg_loops_free(struct cfg_loops *l)
{
	if (l)
		arena_free(l->memory);
}

bool cfg_loop_has(const struct cfg_loops *l, uint32_t loop, uint32_t node)
{
	uint32_t at = l->innermost[node];

	return at != CFG_LOOP_NONE && l->loops[at].place >= l->loops[loop].place &&
	       l->loops[at].place - l->loops[loop].place <= l->loops[loop].inside;
}

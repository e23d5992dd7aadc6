/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/dominators.h"

#include <errno.h>
#include "cfg/numbers.h"

/*
 * Nodes go by their number in preorder of a depth-first search, so that "an ancestor of" is mostly
 * "less than". `at` gives the node back. All arrays below are by that number, except `number`.
 */
struct search {
	const struct cfg_graph *graph;
	/* The edges out of and into each node, seen in the direction of the search. */
	const uint32_t *first_next, *next, *next_end;
	const uint32_t *first_previous, *previous, *previous_end;
	uint32_t *number, *at, *tree_parent;
	uint32_t *semi, *ancestor, *label, *dominator;
	uint32_t *bucket, *bucket_next; /* lists of the nodes with this semidominator */
	uint32_t *path, *cursor;
	uint32_t count; /* reached */
};

static void orient(struct search *s, enum cfg_direction direction)
{
	const struct cfg_graph *g = s->graph;
	bool forward = direction == CFG_FORWARD;

	s->first_next = forward ? g->first_out : g->first_in;
	s->next = forward ? g->out : g->in;
	s->next_end = forward ? g->to : g->from;
	s->first_previous = forward ? g->first_in : g->first_out;
	s->previous = forward ? g->in : g->out;
	s->previous_end = forward ? g->from : g->to;
}

static int allocate(struct search *s, struct arena *scratch)
{
	uint32_t **arrays[] = {&s->number, &s->at,	 &s->tree_parent, &s->semi,
			       &s->label,  &s->ancestor, &s->dominator,	  &s->bucket,
			       &s->path,   &s->cursor,	 &s->bucket_next};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		*arrays[i] = numbers_new(scratch, s->graph->node_count, CFG_NODE_NONE);
		if (!*arrays[i])
			return -ENOMEM;
	}
	return 0;
}

static void reach(struct search *s, uint32_t node, uint32_t parent)
{
	uint32_t v = s->count++;

	s->number[node] = s->semi[v] = s->label[v] = v;
	s->at[v] = node;
	s->tree_parent[v] = parent;
	s->cursor[v] = s->first_next[node];
}

static void number_nodes(struct search *s, uint32_t root)
{
	uint32_t size = 0;

	reach(s, root, CFG_NODE_NONE);
	s->path[size++] = 0;
	while (size) {
		uint32_t v = s->path[size - 1], to;

		if (s->cursor[v] == s->first_next[s->at[v] + 1]) {
			size--;
			continue;
		}
		to = s->next_end[s->next[s->cursor[v]++]];
		if (s->number[to] != CFG_NODE_NONE)
			continue;
		reach(s, to, v);
		s->path[size++] = s->count - 1;
	}
}

/* The node with the least semidominator on the way from v up to its root in the forest. */
static uint32_t evaluate(struct search *s, uint32_t v)
{
	uint32_t size = 0;

	if (s->ancestor[v] == CFG_NODE_NONE)
		return v;
	for (uint32_t u = v; s->ancestor[s->ancestor[u]] != CFG_NODE_NONE; u = s->ancestor[u])
		s->path[size++] = u;
	while (size) {
		uint32_t u = s->path[--size], above = s->ancestor[u];

		if (s->semi[s->label[above]] < s->semi[s->label[u]])
			s->label[u] = s->label[above];
		s->ancestor[u] = s->ancestor[above];
	}
	return s->label[v];
}

static void find_semidominator(struct search *s, uint32_t v)
{
	uint32_t node = s->at[v];

	for (uint32_t i = s->first_previous[node]; i < s->first_previous[node + 1]; i++) {
		uint32_t u = s->number[s->previous_end[s->previous[i]]];

		if (u == CFG_NODE_NONE)
			continue;
		u = evaluate(s, u);
		if (s->semi[u] < s->semi[v])
			s->semi[v] = s->semi[u];
	}
}

static void find_dominators(struct search *s)
{
	for (uint32_t v = s->count; v-- > 1;) {
		uint32_t parent = s->tree_parent[v];

		find_semidominator(s, v);
		s->bucket_next[v] = s->bucket[s->semi[v]];
		s->bucket[s->semi[v]] = v;
		s->ancestor[v] = parent;
		for (uint32_t u = s->bucket[parent]; u != CFG_NODE_NONE; u = s->bucket_next[u]) {
			uint32_t w = evaluate(s, u);

			s->dominator[u] = s->semi[w] < s->semi[u] ? w : parent;
		}
		s->bucket[parent] = CFG_NODE_NONE;
	}
	for (uint32_t v = 1; v < s->count; v++) {
		if (s->dominator[v] != s->semi[v])
			s->dominator[v] = s->dominator[s->dominator[v]];
	}
}

/*
 * Preorder of the dominator tree without a walk: sizes of subtrees from the leaves up (a
 * dominator's number is less than its children's), then each child takes its place after its older
 * siblings.
 */
static void number_tree(struct search *s, uint32_t *first, uint32_t *last)
{
	uint32_t *size = s->label, *taken = s->bucket;

	for (uint32_t v = 0; v < s->count; v++)
		size[v] = 1;
	for (uint32_t v = s->count; v-- > 1;)
		size[s->dominator[v]] += size[v];
	for (uint32_t v = 0; v < s->count; v++) {
		uint32_t start = 0;

		if (v) {
			start = taken[s->dominator[v]];
			taken[s->dominator[v]] += size[v];
		}
		taken[v] = start + 1;
		first[s->at[v]] = start;
		last[s->at[v]] = start + size[v] - 1;
	}
}

static int fill(struct search *s, struct cfg_dominators *d)
{
	uint32_t n = s->graph->node_count;
	uint32_t *parent = numbers_new(d->memory, n, CFG_NODE_NONE);
	uint32_t *first = numbers_new(d->memory, n, CFG_NODE_NONE);
	uint32_t *last = numbers_new(d->memory, n, CFG_NODE_NONE);

	if (!parent || !first || !last)
		return -ENOMEM;
	number_nodes(s, d->root);
	find_dominators(s);
	for (uint32_t v = 1; v < s->count; v++)
		parent[s->at[v]] = s->at[s->dominator[v]];
	number_tree(s, first, last);
	d->parent = parent;
	d->first = first;
	d->last = last;
	return 0;
}

int cfg_dominators_new(const struct cfg_graph *g, enum cfg_direction direction,
		       struct cfg_dominators **ret)
{
	struct arena *memory = arena_new(SIZE_MAX), *scratch = arena_new(SIZE_MAX);
	struct cfg_dominators *d = memory ? arena_alloc(memory, sizeof(*d)) : NULL;
	struct search s = {.graph = g};
	int r = d && scratch ? allocate(&s, scratch) : -ENOMEM;

	if (!r) {
		d->memory = memory;
		d->node_count = g->node_count;
		d->root = direction == CFG_FORWARD ? g->entry : g->exit;
		orient(&s, direction);
		r = fill(&s, d);
	}
	arena_free(scratch);
	if (r) {
		arena_free(memory);
		return r;
	}
	*ret = d;
	return 0;
}

void cfg_dominators_free(struct cfg_dominators *d)
{
	if (d)
		arena_free(d->memory);
}

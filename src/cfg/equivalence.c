/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/equivalence.h"

#include <errno.h>
#include "cfg/numbers.h"

/*
 * In a strongly connected graph, two edges are on the same directed cycles exactly if they are on
 * the same cycles of the undirected graph. There, in an undirected depth-first search, two tree
 * edges are equivalent if they have the same brackets (back edges that span them); bracket sets are
 * told apart by their newest bracket and their size. Where the brackets of two subtrees meet, a
 * capping back edge keeps the edges of these subtrees apart.
 *
 * In the undirected graph, node n is the edge n between its ends 2n (where edges enter) and 2n + 1
 * (where they leave); then come the graph's edges, then those of its closure, then capping edges.
 */
struct search {
	const struct cfg_graph *graph;
	const struct cfg_closure *closure;
	uint32_t point_count, edge_count; /* points: ends of nodes; edges without capping */
	uint32_t cap_count;
	uint32_t *first, *incident; /* the edges at each point */

	uint32_t *number, *order, *up; /* up: the edge to the parent */
	uint32_t *path, *cursor;
	uint32_t met;

	uint32_t *high; /* least number that a subtree's back edges reach */
	uint32_t *cap_first, *cap_next;

	/* Lists of brackets, newest first, one a point. */
	uint32_t *list_first, *list_last, *list_size;
	uint32_t *newer, *older; /* of a bracket */
	uint32_t *recent_size, *recent_class;

	uint32_t *class; /* of an edge */
	uint32_t class_count;
};

#define NONE UINT32_MAX

static void edge_ends(const struct search *s, uint32_t edge, uint32_t ends[2])
{
	const struct cfg_graph *g = s->graph;
	uint32_t nodes = g->node_count, from, to;

	if (edge < nodes) {
		ends[0] = 2 * edge;
		ends[1] = 2 * edge + 1;
		return;
	}
	edge -= nodes;
	if (edge < g->edge_count) {
		from = g->from[edge];
		to = g->to[edge];
	} else {
		from = s->closure->from[edge - g->edge_count];
		to = s->closure->to[edge - g->edge_count];
	}
	ends[0] = 2 * from + 1;
	ends[1] = 2 * to;
}

static uint32_t other_end(const struct search *s, uint32_t edge, uint32_t point)
{
	uint32_t ends[2];

	edge_ends(s, edge, ends);
	return ends[0] == point ? ends[1] : ends[0];
}

static int allocate(struct search *s, struct arena *scratch)
{
	size_t points = s->point_count, edges = s->edge_count;
	struct {
		uint32_t **array;
		size_t count;
		uint32_t value;
	} wanted[] = {
		{&s->first, points + 1, 0},
		{&s->incident, 2 * edges, 0},
		{&s->number, points, NONE},
		{&s->order, points, 0},
		{&s->up, points, NONE},
		{&s->path, points, 0},
		{&s->cursor, points, 0},
		{&s->high, points, NONE},
		{&s->cap_first, points, NONE},
		{&s->cap_next, points, NONE},
		{&s->list_first, points, NONE},
		{&s->list_last, points, NONE},
		{&s->list_size, points, 0},
		{&s->newer, edges + points, NONE},
		{&s->older, edges + points, NONE},
		{&s->recent_size, edges + points, 0},
		{&s->recent_class, edges + points, NONE},
		{&s->class, edges, NONE},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].array = numbers_new(scratch, wanted[i].count, wanted[i].value);
		if (!*wanted[i].array)
			return -ENOMEM;
	}
	return 0;
}

static void list_incident(struct search *s)
{
	uint32_t ends[2];

	for (uint32_t e = 0; e < s->edge_count; e++) {
		edge_ends(s, e, ends);
		s->first[ends[0]]++;
		s->first[ends[1]]++;
	}
	/* first[p] becomes the end of p's list, and goes down to its start as that is filled. */
	for (uint32_t p = 0; p < s->point_count; p++)
		s->first[p + 1] += s->first[p];
	for (uint32_t e = s->edge_count; e-- > 0;) {
		edge_ends(s, e, ends);
		s->incident[--s->first[ends[0]]] = e;
		s->incident[--s->first[ends[1]]] = e;
	}
}

static void meet(struct search *s, uint32_t point, uint32_t edge, uint32_t *size)
{
	s->number[point] = s->met;
	s->order[s->met++] = point;
	s->up[point] = edge;
	s->cursor[point] = s->first[point];
	s->path[(*size)++] = point;
}

static void number_points(struct search *s, uint32_t root)
{
	uint32_t size = 0;

	meet(s, root, NONE, &size);
	while (size) {
		uint32_t point = s->path[size - 1], edge, to;

		if (s->cursor[point] == s->first[point + 1]) {
			size--;
			continue;
		}
		edge = s->incident[s->cursor[point]++];
		to = other_end(s, edge, point);
		if (s->number[to] == NONE)
			meet(s, to, edge, &size);
	}
}

static void push_bracket(struct search *s, uint32_t point, uint32_t bracket)
{
	uint32_t first = s->list_first[point];

	s->newer[bracket] = NONE;
	s->older[bracket] = first;
	s->list_first[point] = bracket;
	if (first == NONE)
		s->list_last[point] = bracket;
	else
		s->newer[first] = bracket;
	s->list_size[point]++;
}

static void remove_bracket(struct search *s, uint32_t point, uint32_t bracket)
{
	uint32_t newer = s->newer[bracket], older = s->older[bracket];

	if (newer == NONE)
		s->list_first[point] = older;
	else
		s->older[newer] = older;
	if (older == NONE)
		s->list_last[point] = newer;
	else
		s->newer[older] = newer;
	s->list_size[point]--;
}

/* Puts all brackets of a child before those of its parent. */
static void join_brackets(struct search *s, uint32_t child, uint32_t parent)
{
	uint32_t last = s->list_last[child], first = s->list_first[parent];

	if (last == NONE)
		return;
	s->older[last] = first;
	if (first == NONE)
		s->list_last[parent] = last;
	else
		s->newer[first] = last;
	s->list_first[parent] = s->list_first[child];
	s->list_size[parent] += s->list_size[child];
}

/* Takes over the children's brackets. Returns the second least of what the children reach. */
static uint32_t join_children(struct search *s, uint32_t point)
{
	uint32_t least = NONE, second = NONE;

	for (uint32_t i = s->first[point]; i < s->first[point + 1]; i++) {
		uint32_t edge = s->incident[i], child = other_end(s, edge, point);

		if (s->up[child] != edge || child == point)
			continue;
		join_brackets(s, child, point);
		if (s->high[child] < least) {
			second = least;
			least = s->high[child];
		} else if (s->high[child] < second) {
			second = s->high[child];
		}
	}
	s->high[point] = least;
	return second;
}

/* The back edges that end here from below are no brackets further up. */
static void close_brackets(struct search *s, uint32_t point)
{
	for (uint32_t cap = s->cap_first[point]; cap != NONE; cap = s->cap_next[cap])
		remove_bracket(s, point, s->edge_count + cap);
	for (uint32_t i = s->first[point]; i < s->first[point + 1]; i++) {
		uint32_t edge = s->incident[i], to = other_end(s, edge, point);

		if (s->up[to] == edge || s->up[point] == edge || s->number[to] < s->number[point])
			continue;
		remove_bracket(s, point, edge);
		if (s->class[edge] == NONE)
			s->class[edge] = s->class_count++;
	}
}

static void open_brackets(struct search *s, uint32_t point, uint32_t second)
{
	uint32_t own = NONE;

	for (uint32_t i = s->first[point]; i < s->first[point + 1]; i++) {
		uint32_t edge = s->incident[i], to = other_end(s, edge, point);

		if (s->up[to] == edge || s->up[point] == edge || s->number[to] > s->number[point])
			continue;
		push_bracket(s, point, edge);
		if (s->number[to] < own)
			own = s->number[to];
	}
	if (own < s->high[point])
		s->high[point] = own;
	/* Two children reach above this point: only what is above both is under the same edges. */
	if (second < own && second < s->number[point]) {
		uint32_t cap = s->cap_count++, to = s->order[second];

		s->cap_next[cap] = s->cap_first[to];
		s->cap_first[to] = cap;
		push_bracket(s, point, s->edge_count + cap);
	}
}

/* The class of the edge to the parent. */
static void classify(struct search *s, uint32_t point)
{
	uint32_t edge = s->up[point], bracket = s->list_first[point];

	if (edge == NONE)
		return;
	if (bracket == NONE) { /* a bridge; a closed graph has none */
		s->class[edge] = s->class_count++;
		return;
	}
	if (s->recent_size[bracket] != s->list_size[point]) {
		s->recent_size[bracket] = s->list_size[point];
		s->recent_class[bracket] = s->class_count++;
	}
	s->class[edge] = s->recent_class[bracket];
	if (s->list_size[point] == 1 && bracket < s->edge_count)
		s->class[bracket] = s->class[edge];
}

static struct cfg_equivalence *result_new(const struct cfg_graph *g, uint32_t **nodes,
					  uint32_t **edges)
{
	struct arena *memory = arena_new(SIZE_MAX);
	struct cfg_equivalence *e = memory ? arena_alloc(memory, sizeof(*e)) : NULL;

	*nodes = e ? numbers_new(memory, g->node_count, 0) : NULL;
	*edges = e ? numbers_new(memory, g->edge_count, 0) : NULL;
	if (!*nodes || !*edges) {
		arena_free(memory);
		return NULL;
	}
	e->memory = memory;
	e->node_class = *nodes;
	e->edge_class = *edges;
	return e;
}

/* Numbers the classes that nodes and edges are in; those of the closure alone are left out. */
static int fill(struct search *s, struct arena *scratch, struct cfg_equivalence **ret)
{
	const struct cfg_graph *g = s->graph;
	uint32_t *renamed = numbers_new(scratch, s->class_count, NONE), *nodes, *edges;
	struct cfg_equivalence *e = renamed ? result_new(g, &nodes, &edges) : NULL;

	if (!e)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->node_count + g->edge_count; i++) {
		uint32_t *class = &renamed[s->class[i]];

		if (*class == NONE)
			*class = e->class_count++;
		if (i < g->node_count)
			nodes[i] = *class;
		else
			edges[i - g->node_count] = *class;
	}
	*ret = e;
	return 0;
}

int cfg_equivalence_new(const struct cfg_graph *g, struct cfg_equivalence **ret)
{
	struct arena *scratch = arena_new(SIZE_MAX);
	struct cfg_closure *closure = NULL;
	struct search s = {.graph = g};
	int r = scratch ? cfg_closure_new(g, &closure) : -ENOMEM;

	if (!r) {
		s.closure = closure;
		s.point_count = 2 * g->node_count;
		s.edge_count = g->node_count + g->edge_count + closure->count;
		r = allocate(&s, scratch);
	}
	if (!r) {
		list_incident(&s);
		number_points(&s, 2 * g->entry);
		for (uint32_t i = s.met; i-- > 0;) {
			uint32_t second = join_children(&s, s.order[i]);

			close_brackets(&s, s.order[i]);
			open_brackets(&s, s.order[i], second);
			classify(&s, s.order[i]);
		}
		r = fill(&s, scratch, ret);
	}
	cfg_closure_free(closure);
	arena_free(scratch);
	return r;
}

int cfg_equivalence_new_single(const struct cfg_graph *g, struct cfg_equivalence **ret)
{
	uint32_t *nodes, *edges;
	struct cfg_equivalence *e = result_new(g, &nodes, &edges);

	if (!e)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->node_count; i++)
		nodes[i] = i;
	for (uint32_t i = 0; i < g->edge_count; i++)
		edges[i] = g->node_count + i;
	e->class_count = g->node_count + g->edge_count;
	*ret = e;
	return 0;
}

void cfg_equivalence_free(struct cfg_equivalence *e)
{
	if (e)
		arena_free(e->memory);
}

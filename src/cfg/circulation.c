/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/circulation.h"

#include <errno.h>
#include <math.h>
#include "cfg/numbers.h"

/*
 * Invariants between pivots:
 *  1. the flow is a circulation within the capacities;
 *  2. the tree spans all nodes; an arc outside of it has flow 0 or its capacity;
 *  3. over the tree, cost + potential[from] == potential[to] for each arc;
 *  4. from each node, some flow more could be sent up the tree to the root.
 * The root is a node of its own, and the first tree is an arc from each node to it. These arcs keep
 * flow 0 for ever; their cost is above that of any way, so that they leave the tree as soon as
 * something else connects.
 */
struct tree {
	uint32_t *parent;
	size_t *arc; /* to the parent */
	uint32_t *depth;
	int64_t *potential;
	uint32_t *child, *next, *previous; /* lists of children */
};

enum { AT_CAPACITY = -1, IN_TREE = 0, AT_ZERO = 1 };

struct simplex {
	struct circulation_arc *arcs;
	size_t arc_count;
	struct circulation_arc *roots; /* of node n: arc number arc_count + n */
	int8_t *state;
	uint32_t node_count; /* without the root, which is node number node_count */
	struct tree tree;
	size_t block, next_arc; /* of the search for an entering arc */
	uint64_t steps;
};

/* One pivot's cycle: flow goes up from `second` to the join, down to `first`, and over the arc. */
struct cycle {
	size_t entering;
	uint32_t first, second, join;
	int64_t amount;
	uint32_t out; /* the node below the arc that leaves; CFG's NONE: the entering arc itself */
	bool out_is_first;
};

#define NONE UINT32_MAX

static struct circulation_arc *arc_at(struct simplex *s, size_t arc)
{
	return arc < s->arc_count ? &s->arcs[arc] : &s->roots[arc - s->arc_count];
}

static void link_child(struct tree *t, uint32_t parent, uint32_t node)
{
	uint32_t next = t->child[parent];

	t->parent[node] = parent;
	t->previous[node] = NONE;
	t->next[node] = next;
	if (next != NONE)
		t->previous[next] = node;
	t->child[parent] = node;
}

static void unlink_child(struct tree *t, uint32_t node)
{
	uint32_t next = t->next[node], previous = t->previous[node];

	if (previous == NONE)
		t->child[t->parent[node]] = next;
	else
		t->next[previous] = next;
	if (next != NONE)
		t->previous[next] = previous;
}

/* The arc whose flow saves most if changed, among those of the first block that has any. */
static bool find_entering(struct simplex *s, size_t *ret)
{
	const int64_t *potential = s->tree.potential;
	int64_t best = 0;
	size_t seen = 0;

	while (seen < s->arc_count) {
		for (size_t i = 0; i < s->block && seen < s->arc_count; i++, seen++) {
			size_t arc = s->next_arc;
			const struct circulation_arc *a = &s->arcs[arc];
			int64_t saving =
				s->state[arc] * (a->cost + potential[a->from] - potential[a->to]);

			if (saving < best) {
				best = saving;
				*ret = arc;
			}
			if (++s->next_arc == s->arc_count)
				s->next_arc = 0;
		}
		if (best < 0)
			break;
	}
	s->steps += seen;
	return best < 0;
}

static uint32_t find_join(struct simplex *s, uint32_t a, uint32_t b)
{
	const struct tree *t = &s->tree;

	while (a != b) {
		if (t->depth[a] >= t->depth[b])
			a = t->parent[a];
		else
			b = t->parent[b];
		s->steps++;
	}
	return a;
}

/* How much more could flow over the tree's arc above a node, up or down. */
static int64_t room_above(struct simplex *s, uint32_t node, bool up)
{
	const struct circulation_arc *a = arc_at(s, s->tree.arc[node]);

	if ((a->from == node) != up)
		return a->flow;
	return a->capacity == CIRCULATION_UNLIMITED ? CIRCULATION_UNLIMITED : a->capacity - a->flow;
}

/*
 * What bounds the change. Of several arcs that do, the last one as seen from the join along the
 * flow leaves the tree: this is what keeps invariant 4.
 */
static struct cycle find_leaving(struct simplex *s, size_t entering)
{
	const struct circulation_arc *a = &s->arcs[entering];
	bool forward = s->state[entering] == AT_ZERO;
	struct cycle c = {.entering = entering, .out = NONE, .amount = a->capacity};
	int64_t room;

	c.first = forward ? a->from : a->to;
	c.second = forward ? a->to : a->from;
	c.join = find_join(s, c.first, c.second);
	for (uint32_t u = c.first; u != c.join; u = s->tree.parent[u]) {
		room = room_above(s, u, false);
		if (room < c.amount) {
			c.amount = room;
			c.out = u;
			c.out_is_first = true;
		}
	}
	for (uint32_t u = c.second; u != c.join; u = s->tree.parent[u]) {
		room = room_above(s, u, true);
		if (room <= c.amount) {
			c.amount = room;
			c.out = u;
			c.out_is_first = false;
		}
	}
	return c;
}

static void send_above(struct simplex *s, uint32_t node, bool up, int64_t amount)
{
	struct circulation_arc *a = arc_at(s, s->tree.arc[node]);

	a->flow += (a->from == node) == up ? amount : -amount;
}

static void change_flow(struct simplex *s, const struct cycle *c)
{
	if (!c->amount)
		return;
	s->arcs[c->entering].flow += s->state[c->entering] * c->amount;
	for (uint32_t u = c->first; u != c->join; u = s->tree.parent[u])
		send_above(s, u, false, c->amount);
	for (uint32_t u = c->second; u != c->join; u = s->tree.parent[u])
		send_above(s, u, true, c->amount);
}

/* Depths and potentials below a node that has moved. */
static void renew_subtree(struct simplex *s, uint32_t top)
{
	struct tree *t = &s->tree;
	const struct circulation_arc *a = arc_at(s, t->arc[top]);
	uint32_t parent = t->parent[top], node = top;
	int64_t change =
		t->potential[parent] + (a->from == top ? -a->cost : a->cost) - t->potential[top];

	for (;;) {
		t->potential[node] += change;
		t->depth[node] = t->depth[t->parent[node]] + 1;
		s->steps++;
		if (t->child[node] != NONE) {
			node = t->child[node];
			continue;
		}
		while (node != top && t->next[node] == NONE)
			node = t->parent[node];
		if (node == top)
			return;
		node = t->next[node];
	}
}

/* Puts the entering arc into the tree in place of the leaving one. */
static void change_tree(struct simplex *s, const struct cycle *c)
{
	struct tree *t = &s->tree;
	uint32_t node = c->out_is_first ? c->first : c->second, top = node;
	uint32_t parent = c->out_is_first ? c->second : c->first;
	size_t arc = c->entering, leaving = t->arc[c->out];
	bool last;

	if (leaving < s->arc_count)
		s->state[leaving] = s->arcs[leaving].flow ? AT_CAPACITY : AT_ZERO;
	s->state[c->entering] = IN_TREE;
	/* What was above `node`, up to the leaving arc, now hangs below it. */
	do {
		uint32_t above = t->parent[node];
		size_t above_arc = t->arc[node];

		last = node == c->out;
		unlink_child(t, node);
		link_child(t, parent, node);
		t->arc[node] = arc;
		parent = node;
		arc = above_arc;
		node = above;
	} while (!last);
	renew_subtree(s, top);
}

static void pivot(struct simplex *s, size_t entering)
{
	struct cycle c = find_leaving(s, entering);

	change_flow(s, &c);
	if (c.out == NONE)
		s->state[entering] = (int8_t)-s->state[entering];
	else
		change_tree(s, &c);
}

static int allocate(struct simplex *s, struct arena *scratch)
{
	size_t n = (size_t)s->node_count + 1;
	struct tree *t = &s->tree;

	t->parent = numbers_new(scratch, n, NONE);
	t->depth = numbers_new(scratch, n, 0);
	t->child = numbers_new(scratch, n, NONE);
	t->next = numbers_new(scratch, n, NONE);
	t->previous = numbers_new(scratch, n, NONE);
	t->arc = arena_alloc(scratch, n * sizeof(*t->arc));
	t->potential = arena_alloc(scratch, n * sizeof(*t->potential));
	s->roots = arena_alloc(scratch, n * sizeof(*s->roots));
	s->state = arena_alloc(scratch, s->arc_count + 1);
	return t->parent && t->depth && t->child && t->next && t->previous && t->arc &&
			       t->potential && s->roots && s->state
		       ? 0
		       : -ENOMEM;
}

static void plant(struct simplex *s)
{
	struct tree *t = &s->tree;
	int64_t dear = 1;

	for (size_t i = 0; i < s->arc_count; i++) {
		int64_t cost = s->arcs[i].cost < 0 ? -s->arcs[i].cost : s->arcs[i].cost;

		if (cost >= dear)
			dear = cost + 1;
		s->arcs[i].flow = 0;
		s->state[i] = AT_ZERO;
	}
	dear *= (int64_t)s->node_count + 1;
	for (uint32_t n = 0; n < s->node_count; n++) {
		s->roots[n] =
			(struct circulation_arc){n, s->node_count, dear, CIRCULATION_UNLIMITED, 0};
		link_child(t, s->node_count, n);
		t->arc[n] = s->arc_count + n;
		t->depth[n] = 1;
		t->potential[n] = -dear;
	}
}

static int check(uint32_t node_count, const struct circulation_arc *arcs, size_t arc_count)
{
	int64_t sum = 0;

	for (size_t i = 0; i < arc_count; i++) {
		const struct circulation_arc *a = &arcs[i];
		bool limited = a->capacity != CIRCULATION_UNLIMITED;

		if (a->from >= node_count || a->to >= node_count || a->capacity < 0 ||
		    a->cost > CIRCULATION_COST_MAX || a->cost < -CIRCULATION_COST_MAX ||
		    (a->cost < 0 && !limited))
			return -EINVAL;
		if (limited && a->capacity > CIRCULATION_CAPACITY_MAX - sum)
			return -EINVAL;
		sum += limited ? a->capacity : 0;
	}
	return 0;
}

int circulation_solve(uint32_t node_count, struct circulation_arc *arcs, size_t arc_count,
		      uint64_t max_steps, uint64_t *ret_steps, bool *ret_optimal)
{
	struct simplex s = {.arcs = arcs, .arc_count = arc_count, .node_count = node_count};
	struct arena *scratch;
	bool optimal = false;
	size_t entering;
	int r = node_count < NONE ? check(node_count, arcs, arc_count) : -EINVAL;

	if (r)
		return r;
	scratch = arena_new(SIZE_MAX);
	r = scratch ? allocate(&s, scratch) : -ENOMEM;
	if (!r) {
		plant(&s);
		s.block = (size_t)sqrt((double)arc_count) + 16;
		do {
			optimal = !find_entering(&s, &entering);
			if (!optimal)
				pivot(&s, entering);
		} while (!optimal && s.steps < max_steps);
		*ret_steps = s.steps;
		*ret_optimal = optimal;
	}
	arena_free(scratch);
	return r;
}

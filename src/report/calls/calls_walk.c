/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/calls/calls_view.h"
#include "util/array.h"
#include "util/num.h"

/* Which nodes of a tree are shown, in which order. */

/* A level of the way to the node at hand. */
struct level {
	uint32_t node, next; /* next: of its children */
};

struct walk {
	const struct calls_view *view;
	const struct calls_visitor *visitor;
	struct level *levels;
	size_t depth, room;
};

static uint64_t measure(const struct calls_view *v, uint32_t node)
{
	return v->by_self ? tree_self(v->tree, node, 0) : tree_total(v->tree, node, 0);
}

double calls_share(const struct tree *t, size_t event, uint64_t samples)
{
	uint64_t all = t->event_count ? t->set->totals[event] : 0;

	return all ? 100 * (double)samples / (double)all : 0;
}

struct through {
	const struct tree *tree;
	const bool *functions;
	uint64_t inside, samples;
};

static bool is_in(const struct through *f, uint32_t node)
{
	uint32_t function = f->tree->nodes[node].function;

	return function != TREE_NO_FUNCTION && f->functions[function];
}

static void enter_node(void *arg, uint32_t node)
{
	struct through *f = arg;

	if (is_in(f, node) && !f->inside++)
		f->samples = num_add_sat(f->samples, tree_total(f->tree, node, 0));
}

static void leave_node(void *arg, uint32_t node)
{
	struct through *f = arg;

	if (is_in(f, node))
		f->inside--;
}

int calls_count_through(const struct tree *t, const bool *functions, uint64_t *ret)
{
	struct through f = {.tree = t, .functions = functions};
	int r = t->event_count ? tree_visit(t, enter_node, leave_node, &f) : 0;

	if (!r)
		*ret = f.samples;
	return r;
}

/* The child that the hot path goes on to; UINT32_MAX: none. Children stand by their samples. */
static uint32_t hot_child(const struct calls_view *v, uint32_t node)
{
	const struct tree_node *n = &v->tree->nodes[node];
	uint32_t child;

	if (!n->child_count)
		return UINT32_MAX;
	child = v->tree->children[n->first_child];
	/* From the root it begins at the hottest, however many there are. */
	if (node && (double)measure(v, child) * 100 < v->hot * (double)measure(v, node))
		return UINT32_MAX;
	return measure(v, child) ? child : UINT32_MAX;
}

/* Of any event; what is but the way back of a recursion that was folded has none. */
static bool has_samples(const struct calls_view *v, uint32_t node)
{
	const uint64_t *counts = v->by_self ? v->tree->self : v->tree->total;

	for (size_t e = 0; e < v->tree->event_count; e++)
		if (counts[node * v->tree->event_count + e])
			return true;
	return false;
}

/* rank: of the child among those of its parent, which stand by what is measured. */
static bool is_shown(const struct calls_view *v, uint32_t parent, uint32_t rank, uint64_t depth)
{
	uint32_t node = v->tree->children[v->tree->nodes[parent].first_child + rank];

	if ((v->depth && depth > v->depth) || (v->limit && rank >= v->limit))
		return false;
	if (v->hot > 0)
		return hot_child(v, parent) == node;
	return has_samples(v, node) && calls_share(v->tree, 0, measure(v, node)) >= v->prune;
}

uint32_t calls_count_shown(const struct calls_view *v, uint32_t node, uint64_t depth,
			   struct calls_rest *ret)
{
	const struct tree_node *n = &v->tree->nodes[node];
	struct calls_rest rest = {0};
	uint32_t shown = 0;

	for (uint32_t i = 0; i < n->child_count; i++) {
		uint32_t child = v->tree->children[n->first_child + i];

		if (is_shown(v, node, i, depth + 1)) {
			shown++;
		} else if (has_samples(v, child)) {
			rest.nodes++;
			rest.samples = num_add_sat(rest.samples, measure(v, child));
		}
	}
	*ret = rest;
	return shown;
}

static int push(struct walk *w, uint32_t node)
{
	if (array_grow(&w->levels, w->depth, &w->room, sizeof(*w->levels), 64))
		return -ENOMEM;
	int r = w->visitor->enter(w->visitor->arg, node, w->depth);
	w->levels[w->depth++] = (struct level){.node = node};
	return r;
}

static int step(struct walk *w)
{
	struct level *at = &w->levels[w->depth - 1];
	const struct tree_node *n = &w->view->tree->nodes[at->node];
	struct calls_rest rest;

	while (at->next < n->child_count) {
		uint32_t rank = at->next++;

		if (is_shown(w->view, at->node, rank, w->depth))
			return push(w, w->view->tree->children[n->first_child + rank]);
	}
	w->depth--;
	calls_count_shown(w->view, at->node, w->depth, &rest);
	return w->visitor->leave(w->visitor->arg, at->node, w->depth, &rest);
}

int calls_walk(const struct calls_view *v, const struct calls_visitor *visitor)
{
	struct walk w = {.view = v, .visitor = visitor};
	int r = push(&w, 0);

	while (!r && w.depth)
		r = step(&w);
	free(w.levels);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/calls_view.h"

/* Deep recursion in a tree: stretches in which the same calls follow each other again and again. */

#define CHAIN_MAX  4096 /* nodes that are looked at; a longer run is shown as several */
#define PERIOD_MAX 8
#define COPIES_MIN 3 /* fewer are as well shown */

static bool counts_equal(const struct calls_view *v, uint32_t a, uint32_t b)
{
	size_t events = v->tree->event_count;
	const uint64_t *counts = v->by_self ? v->tree->self : v->tree->total;

	for (size_t e = 0; e < events; e++)
		if (counts[a * events + e] != counts[b * events + e])
			return false;
	return true;
}

/* The child that all stacks of a node go on to; UINT32_MAX: there is none. */
static uint32_t only_child(const struct calls_view *v, uint32_t node, uint64_t depth)
{
	const struct tree_node *n = &v->tree->nodes[node];
	struct calls_rest rest;
	uint32_t child;

	if (calls_count_shown(v, node, depth, &rest) != 1 || rest.nodes)
		return UINT32_MAX;
	child = v->tree->children[n->first_child]; /* what is shown stands first */
	return counts_equal(v, node, child) ? child : UINT32_MAX;
}

static bool same_call(const struct tree *t, uint32_t a, uint32_t b)
{
	const struct tree_node *x = &t->nodes[a], *y = &t->nodes[b];

	return x->function == y->function && x->site == y->site && x->site_line == y->site_line;
}

struct calls_run calls_find_run(const struct calls_view *v, uint32_t node, uint64_t depth)
{
	uint32_t chain[CHAIN_MAX], count = 0;

	while (node != UINT32_MAX && count < CHAIN_MAX) {
		chain[count++] = node;
		node = only_child(v, node, depth++);
	}
	count--; /* the last one goes on otherwise: it is always shown */
	for (uint32_t period = 1; period <= PERIOD_MAX; period++) {
		uint32_t equal = 0;

		while (equal + period < count &&
		       same_call(v->tree, chain[equal], chain[equal + period]))
			equal++;
		if (equal / period + 1 >= COPIES_MIN)
			return (struct calls_run){period, equal / period};
	}
	return (struct calls_run){0};
}

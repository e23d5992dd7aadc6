/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/tree_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The children of each node of a tree, in the order in which they are shown. */

struct ordering {
	const struct tree *tree;
	const uint64_t *by;
};

static int compare_functions(const struct tree *t, uint32_t x, uint32_t y)
{
	const struct stack_function *f = tree_function(t, x), *g = tree_function(t, y);
	int d;

	if (!f || !g)
		return (t->nodes[x].group > t->nodes[y].group) -
		       (t->nodes[x].group < t->nodes[y].group);
	d = strcmp(f->name, g->name);
	if (!d)
		d = strcmp(t->set->images[f->image].path, t->set->images[g->image].path);
	return d ? d : (f->start > g->start) - (f->start < g->start);
}

/* Most stacks first, then everything else, so that equal input gives equal output. */
static int compare_children(const void *a, const void *b, void *arg)
{
	const struct ordering *o = arg;
	const struct tree *t = o->tree;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct tree_node *n = &t->nodes[x], *m = &t->nodes[y];
	int d = 0;

	for (size_t e = 0; e < t->event_count && !d; e++) {
		uint64_t i = o->by[x * t->event_count + e], j = o->by[y * t->event_count + e];

		d = (i < j) - (i > j);
	}
	if (!d)
		d = compare_functions(t, x, y);
	if (!d)
		d = (n->site > m->site) - (n->site < m->site);
	return d ? d : (n->site_line > m->site_line) - (n->site_line < m->site_line);
}

int tree_order(struct tree *t, const uint64_t *by)
{
	struct ordering o = {t, by};
	uint32_t first = 0;

	t->children = calloc(t->node_count + 1, sizeof(*t->children));
	if (!t->children)
		return -ENOMEM;
	for (size_t i = 1; i < t->node_count; i++)
		t->nodes[t->nodes[i].parent].child_count++;
	for (size_t i = 0; i < t->node_count; i++) {
		t->nodes[i].first_child = first;
		first += t->nodes[i].child_count;
		t->nodes[i].child_count = 0;
	}
	for (uint32_t i = 1; i < t->node_count; i++) {
		struct tree_node *parent = &t->nodes[t->nodes[i].parent];

		t->children[parent->first_child + parent->child_count++] = i;
	}
	for (size_t i = 0; i < t->node_count; i++) {
		const struct tree_node *n = &t->nodes[i];

		if (n->child_count > 1)
			qsort_r(t->children + n->first_child, n->child_count, sizeof(*t->children),
				compare_children, &o);
	}
	return 0;
}

/* The way to the node at hand, and of each node on it how many children have been visited. */
struct visit {
	uint32_t node, next;
};

int tree_visit(const struct tree *t, void (*enter)(void *arg, uint32_t node),
	       void (*leave)(void *arg, uint32_t node), void *arg)
{
	struct visit *way = reallocarray(NULL, t->node_count + 1, sizeof(*way));
	size_t depth = 1;

	if (!way)
		return -ENOMEM;
	way[0] = (struct visit){0, 0};
	while (depth) {
		struct visit *at = &way[depth - 1];
		const struct tree_node *n = &t->nodes[at->node];

		if (at->next < n->child_count) {
			uint32_t child = t->children[n->first_child + at->next++];

			enter(arg, child);
			way[depth++] = (struct visit){child, 0};
		} else {
			if (at->node)
				leave(arg, at->node);
			depth--;
		}
	}
	free(way);
	return 0;
}

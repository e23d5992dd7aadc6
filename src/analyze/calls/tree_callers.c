/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/tree_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

/* A node of the tree that samples are of, and the one on the way out from it. */
struct entry {
	uint32_t origin, at;
	uint32_t function; /* of the caller */
	uint32_t line;
	uint64_t site;
};

/* What a node of the new tree stands for, until its callers have been looked for. */
struct work {
	struct entry *entries;
	size_t count;
	uint32_t depth;
};

struct turner {
	const struct tree *from;
	const struct tree_callers_options *options;
	struct tree *to;
	bool *outermost; /* for each node of from: no other of its function is further out */
	struct work *works;
	size_t node_room;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = NUM_ORDER(x->function, y->function) ?: NUM_ORDER(x->site, y->site);

	return order ?: NUM_ORDER(x->line, y->line) ?: NUM_ORDER(x->origin, y->origin);
}

static bool same_caller(const struct entry *a, const struct entry *b)
{
	return a->function == b->function && a->site == b->site && a->line == b->line;
}

static int reserve(struct turner *u)
{
	struct tree *t = u->to;
	size_t count = t->node_count, bytes = t->event_count * sizeof(uint64_t);
	size_t nodes = u->node_room, works = u->node_room, self = u->node_room;

	if (count == TREE_NODES_MAX)
		return -E2BIG;
	if (array_grow(&t->nodes, count, &nodes, sizeof(*t->nodes), 1024) ||
	    array_grow(&u->works, count, &works, sizeof(*u->works), 1024) ||
	    array_grow(&t->self, count, &self, bytes, 1024))
		return -ENOMEM;
	return array_grow(&t->total, count, &u->node_room, bytes, 1024);
}

static void sum_entries(struct turner *u, uint32_t node, const struct entry *e, size_t count)
{
	size_t events = u->to->event_count;
	uint64_t *self = &u->to->self[node * events], *total = &u->to->total[node * events];

	memset(self, 0, events * sizeof(*self));
	memset(total, 0, events * sizeof(*total));
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < events; k++) {
			self[k] = num_add_sat(self[k], tree_self(u->from, e[i].origin, k));
			if (u->outermost[e[i].origin])
				total[k] =
					num_add_sat(total[k], tree_total(u->from, e[i].origin, k));
		}
	}
}

/* A node for entries that have the caller in common. */
static int add_node(struct turner *u, uint32_t parent, uint32_t depth, const struct entry *e,
		    size_t count)
{
	const struct tree_node *called = &u->from->nodes[e->at];
	struct work *work;
	struct tree_node *n;
	int r = reserve(u);

	if (r)
		return r;
	n = &u->to->nodes[u->to->node_count];
	work = &u->works[u->to->node_count];
	*n = (struct tree_node){
		.parent = parent,
		.function = e->function,
		.group = QUERY_NO_GROUP,
		.site = parent ? e->site : TREE_NO_SITE,
	};
	if (parent && (e->site != TREE_NO_SITE || e->line)) {
		n->site_file = called->site_file;
		n->site_line = called->site_line;
	}
	*work = (struct work){malloc(count * sizeof(*e)), count, depth};
	if (!work->entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		work->entries[i] = e[i];
		/* One step out; the first step is to the node itself. */
		if (parent)
			work->entries[i].at = u->from->nodes[e[i].at].parent;
	}
	sum_entries(u, (uint32_t)u->to->node_count++, e, count);
	return 0;
}

static int add_nodes(struct turner *u, uint32_t parent, uint32_t depth, struct entry *entries,
		     size_t count)
{
	size_t end;
	int r = 0;

	array_sort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count && !r; i = end) {
		for (end = i + 1; end < count && same_caller(&entries[i], &entries[end]);)
			end++;
		r = add_node(u, parent, depth, entries + i, end - i);
	}
	return r;
}

static bool is_function(const struct tree *t, uint32_t node)
{
	return t->nodes[node].function != TREE_NO_FUNCTION;
}

/* The callers of a node. */
static int expand(struct turner *u, uint32_t node)
{
	struct work work = u->works[node];
	const struct tree *t = u->from;
	const uint64_t *by = u->options->by_total ? u->to->total : u->to->self;
	size_t count = 0;
	int r = 0;

	u->works[node].entries = NULL;
	if (by[node * t->event_count] >= u->options->least &&
	    (!u->options->depth || work.depth < u->options->depth)) {
		for (size_t i = 0; i < work.count; i++) {
			struct entry e = work.entries[i];
			const struct tree_node *n = &t->nodes[e.at];

			if (!is_function(t, n->parent))
				continue;
			e.function = t->nodes[n->parent].function;
			e.site = u->options->merge_sites ? TREE_NO_SITE : n->site;
			e.line = u->options->merge_sites || n->site != TREE_NO_SITE ? 0
										    : n->site_line;
			work.entries[count++] = e;
		}
		r = add_nodes(u, node, work.depth + 1, work.entries, count);
	}
	free(work.entries);
	return r;
}

struct marking {
	struct turner *turner;
	uint32_t *active; /* for each function, how often it is under way */
};

static void mark_enter(void *arg, uint32_t node)
{
	struct marking *m = arg;
	const struct tree *t = m->turner->from;

	if (is_function(t, node))
		m->turner->outermost[node] = !m->active[t->nodes[node].function]++;
}

static void mark_leave(void *arg, uint32_t node)
{
	struct marking *m = arg;
	const struct tree *t = m->turner->from;

	if (is_function(t, node))
		m->active[t->nodes[node].function]--;
}

static int mark_outermost(struct turner *u)
{
	struct marking m = {u, calloc(u->from->set->function_count + 1, sizeof(*m.active))};
	int r = -ENOMEM;

	u->outermost = calloc(u->from->node_count + 1, sizeof(*u->outermost));
	if (m.active && u->outermost)
		r = tree_visit(u->from, mark_enter, mark_leave, &m);
	free(m.active);
	return r;
}

static int add_roots(struct turner *u)
{
	const struct tree *t = u->from;
	struct entry *entries = calloc(t->node_count + 1, sizeof(*entries));
	size_t count = 0;

	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->node_count; i++) {
		uint32_t function = t->nodes[i].function;

		if (is_function(t, i) &&
		    (!u->options->functions || u->options->functions[function]))
			entries[count++] = (struct entry){i, i, function, 0, TREE_NO_SITE};
	}
	int r = add_nodes(u, 0, 1, entries, count);
	free(entries);
	return r;
}

static int turn(struct turner *u)
{
	struct tree *t = u->to;
	int r = reserve(u);

	if (r)
		return r;
	t->nodes[0] = (struct tree_node){
		.function = TREE_NO_FUNCTION, .group = QUERY_NO_GROUP, .site = TREE_NO_SITE};
	u->works[0] = (struct work){0};
	t->node_count = 1;
	memset(t->self, 0, t->event_count * sizeof(*t->self));
	memcpy(t->total, u->from->total, t->event_count * sizeof(*t->total));
	r = mark_outermost(u);
	if (!r)
		r = add_roots(u);
	for (uint32_t i = 1; i < t->node_count && !r; i++)
		r = expand(u, i);
	return r ? r : tree_order(t, u->options->by_total ? t->total : t->self);
}

int tree_callers(const struct tree *t, const struct tree_callers_options *options,
		 struct tree **ret, struct diag *diag)
{
	struct turner u = {.from = t, .options = options, .to = calloc(1, sizeof(*u.to))};
	int r = -ENOMEM;

	if (u.to) {
		u.to->set = t->set;
		u.to->event_count = t->event_count;
		memcpy(u.to->selected, t->selected, sizeof(t->selected));
		r = turn(&u);
		for (size_t i = 0; i < u.to->node_count; i++)
			free(u.works[i].entries);
	}
	free(u.works);
	free(u.outermost);
	if (r) {
		tree_free(u.to);
		return diag_fail(diag, -r, "%s",
				 r == -ENOMEM ? "out of memory"
					      : "the tree of callers is too big for one report; "
						"select less, or use --prune");
	}
	*ret = u.to;
	return 0;
}

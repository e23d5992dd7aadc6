/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/tree_callers.h"
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX_BYTES (512u << 20)
#define NEIGHBORS_MAX	 (1u << 22)

/* Neighbours of one kind while they are found. */
struct finder {
	struct tree_neighbors *found;
	const struct tree *tree;
	bool merge_sites;
	struct intern *keys;
	struct tree_neighbor *list;
	size_t count, room;
};

struct neighbor_key {
	uint64_t site, line;
	uint32_t function, unused;
};

static int find_neighbor(struct finder *f, uint32_t function, const struct tree_node *call,
			 struct tree_neighbor **ret)
{
	size_t events = f->tree->event_count;
	struct neighbor_key key = {TREE_NO_SITE, 0, function, 0};
	struct tree_neighbor *n;
	uint32_t index;

	if (!f->merge_sites) {
		key.site = call->site;
		key.line = call->site == TREE_NO_SITE ? call->site_line : 0;
	}
	int r = intern_add(f->keys, &key, sizeof(key), &index);
	if (r)
		return r;
	if (index == f->count) {
		if (array_grow(&f->list, f->count, &f->room, sizeof(*f->list), 64))
			return -ENOMEM;
		f->list[f->count] = (struct tree_neighbor){
			.function = function,
			.site = call->site,
			.site_file = call->site_file,
			.site_line = call->site_line,
			.stacks = arena_alloc(f->found->memory, events * sizeof(uint64_t)),
		};
		if (!f->list[f->count].stacks)
			return -ENOMEM;
		f->count++;
	}
	n = &f->list[index];
	if (n->site != call->site)
		n->site = TREE_NO_SITE;
	if (n->site_file != call->site_file || n->site_line != call->site_line) {
		n->site_file = NULL;
		n->site_line = 0;
	}
	*ret = n;
	return 0;
}

static int add(struct finder *f, uint32_t function, const struct tree_node *call,
	       const uint64_t *stacks)
{
	struct tree_neighbor *n;
	int r = 0;
	uint64_t any = 0;

	for (size_t e = 0; e < f->tree->event_count; e++)
		any |= stacks[e];
	if (any)
		r = find_neighbor(f, function, call, &n);
	for (size_t e = 0; e < f->tree->event_count && any && !r; e++)
		n->stacks[e] = num_add_sat(n->stacks[e], stacks[e]);
	return r;
}

static bool is_in(const struct tree *t, const bool *functions, uint32_t node)
{
	return t->nodes[node].function != TREE_NO_FUNCTION && functions[t->nodes[node].function];
}

/* above: for each node, whether one of the functions is further out. own: its stacks without those
 * in which one of the functions is further in. */
static int find_all(struct tree_neighbors *n, struct finder *callers, struct finder *callees,
		    const bool *functions, bool *above, uint64_t *own)
{
	const struct tree *t = callers->tree;
	size_t events = t->event_count;
	int r = 0;

	memcpy(own, t->self, t->node_count * events * sizeof(*own));
	for (uint32_t i = (uint32_t)t->node_count; i-- > 1;)
		for (size_t e = 0; e < events && !is_in(t, functions, i); e++) {
			uint64_t *to = &own[t->nodes[i].parent * events + e];

			*to = num_add_sat(*to, own[i * events + e]);
		}
	for (uint32_t i = 1; i < t->node_count && !r; i++) {
		const struct tree_node *node = &t->nodes[i];
		bool called = is_in(t, functions, node->parent), in = is_in(t, functions, i);

		above[i] = above[node->parent] || called;
		if (called && !in)
			r = add(callees, node->function, node, &own[i * events]);
		for (size_t e = 0; e < events && in; e++) {
			n->self[e] = num_add_sat(n->self[e], tree_self(t, i, e));
			if (!above[i])
				n->total[e] = num_add_sat(n->total[e], tree_total(t, i, e));
		}
		if (in && !above[i] && !r)
			r = add(callers, t->nodes[node->parent].function, node,
				&t->total[i * events]);
	}
	return r;
}

static int compare_neighbors(const void *a, const void *b, void *arg)
{
	const struct tree_neighbor *x = a, *y = b;
	const struct tree *t = arg;
	int d = 0;

	for (size_t e = 0; e < t->event_count && !d; e++)
		d = NUM_ORDER(y->stacks[e], x->stacks[e]);
	if (!d && x->function != y->function) {
		if (x->function == TREE_NO_FUNCTION || y->function == TREE_NO_FUNCTION)
			return x->function == TREE_NO_FUNCTION ? 1 : -1;
		d = strcmp(t->set->functions[x->function].name,
			   t->set->functions[y->function].name);
		if (!d)
			return x->function < y->function ? -1 : 1;
	}
	if (!d)
		d = NUM_ORDER(x->site, y->site);
	return d ? d : NUM_ORDER(x->site_line, y->site_line);
}

static void order(struct finder *f)
{
	if (f->count)
		qsort_r(f->list, f->count, sizeof(*f->list), compare_neighbors, (void *)f->tree);
}

void tree_neighbors_free(struct tree_neighbors *n)
{
	if (!n)
		return;
	free(n->callers);
	free(n->callees);
	arena_free(n->memory);
	free(n);
}

int tree_neighbors_new(const struct tree *t, const bool *functions, bool merge_sites,
		       struct tree_neighbors **ret, struct diag *diag)
{
	struct tree_neighbors *n = calloc(1, sizeof(*n));
	struct finder callers = {n, t, merge_sites, intern_new(NEIGHBORS_MAX), NULL, 0, 0};
	struct finder callees = {n, t, merge_sites, intern_new(NEIGHBORS_MAX), NULL, 0, 0};
	bool *above = calloc(t->node_count + 1, sizeof(*above));
	uint64_t *own = calloc(t->node_count * t->event_count + 1, sizeof(*own));
	int r = -ENOMEM;

	if (n)
		n->memory = arena_new(MEMORY_MAX_BYTES);
	if (n && n->memory && callers.keys && callees.keys && above && own)
		r = find_all(n, &callers, &callees, functions, above, own);
	free(above);
	free(own);
	intern_free(callers.keys);
	intern_free(callees.keys);
	if (n) {
		order(&callers);
		order(&callees);
		n->callers = callers.list;
		n->callees = callees.list;
		n->caller_count = callers.count;
		n->callee_count = callees.count;
	}
	if (r) {
		tree_neighbors_free(n);
		return diag_fail(diag, -r, "%s",
				 r == -ENOMEM ? "out of memory"
					      : "the function has too many callers");
	}
	*ret = n;
	return 0;
}

enum match { MATCH_NONE, MATCH_REGEX, MATCH_PART, MATCH_EXACT };

static enum match match_name(const char *name, const char *text, const regex_t *regex)
{
	if (!strcmp(name, text))
		return MATCH_EXACT;
	if (strstr(name, text))
		return MATCH_PART;
	return regex && !regexec(regex, name, 0, NULL, 0) ? MATCH_REGEX : MATCH_NONE;
}

size_t tree_find_functions(const struct tree *t, const char *text, bool *ret)
{
	const struct stack_set *s = t->set;
	const char *first = NULL;
	enum match best = MATCH_NONE;
	size_t names = 0;
	regex_t regex;
	bool has_regex = !regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);

	memset(ret, 0, s->function_count * sizeof(*ret));
	for (uint32_t i = 1; i < t->node_count; i++) {
		const struct stack_function *f = tree_function(t, i);
		enum match match;

		if (!f || f->kind == STACK_NOTE || ret[t->nodes[i].function])
			continue;
		match = match_name(f->name, text, has_regex ? &regex : NULL);
		if (match > best) {
			best = match;
			memset(ret, 0, s->function_count * sizeof(*ret));
			names = 0;
			first = NULL;
		}
		if (match == MATCH_NONE || match != best)
			continue;
		/* More than one is all that matters. */
		names += !first || strcmp(first, f->name) != 0;
		first = first ? first : f->name;
		ret[t->nodes[i].function] = true;
	}
	if (has_regex)
		regfree(&regex);
	return names;
}

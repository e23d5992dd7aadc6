/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query.h"
#include "util/array.h"
#include "util/num.h"

struct builder {
	struct tree *tree;
	const struct stack_set *set;
	const struct tree_options *options;
	struct map64 *children; /* parent << 32 | number of the step -> node */
	struct intern *steps;
	size_t node_room;
	uint32_t *at;	  /* for each node of the set, the tree's; UINT32_MAX: none yet */
	uint8_t *matches; /* for each, MATCH_... of it and those outside it */
	bool *wanted;	  /* for each, whether stacks that are kept go through it */
};

/* How a child is reached from its parent. */
struct step {
	uint64_t site, line;
	uint32_t function, unused;
};

/* A call, as far as a node tells it. */
struct call {
	uint64_t site;
	const char *file;
	uint32_t line;
};

enum { MATCH_FUNCTION = 1, MATCH_IMAGE = 2, MATCH_ALL = 3 };

static int add_node(struct builder *b, const struct tree_node *node, uint32_t *ret)
{
	struct tree *t = b->tree;

	if (t->node_count == TREE_NODES_MAX)
		return -E2BIG;
	if (array_grow(&t->nodes, t->node_count, &b->node_room, sizeof(*t->nodes), 1024))
		return -ENOMEM;
	t->nodes[t->node_count] = *node;
	*ret = (uint32_t)t->node_count++;
	return 0;
}

/* The nearest ancestor of the function, itself included; UINT32_MAX: none. */
static uint32_t find_ancestor(const struct tree *t, uint32_t node, uint32_t function)
{
	for (; t->nodes[node].function != TREE_NO_FUNCTION; node = t->nodes[node].parent)
		if (t->nodes[node].function == function)
			return node;
	return UINT32_MAX;
}

/* Another call of a node that stands for calls from several places. */
static void merge_call(struct tree_node *n, const struct call *call)
{
	if (n->site != call->site)
		n->site = TREE_NO_SITE;
	if (n->site_file != call->file || n->site_line != call->line) {
		n->site_file = NULL;
		n->site_line = 0;
	}
}

static int enter_call(struct builder *b, uint32_t from, const struct stack_place *place,
		      const struct call *call, uint32_t *ret)
{
	struct step step = {.function = place->function};
	struct tree *t = b->tree;
	struct tree_node node;
	uint32_t number, ancestor;
	uint64_t found;

	if (!b->options->merge_sites) {
		step.site = call->site;
		/* A call that was inlined has no address of its own. */
		step.line = call->site == TREE_NO_SITE ? call->line : 0;
	}
	int r = intern_add(b->steps, &step, sizeof(step), &number);
	if (r)
		return r;
	if (!map64_get(b->children, (uint64_t)from << 32 | number, &found)) {
		merge_call(&t->nodes[found], call);
		*ret = (uint32_t)found;
		return 0;
	}
	ancestor = b->options->fold ? find_ancestor(t, from, place->function) : UINT32_MAX;
	if (ancestor != UINT32_MAX) {
		t->nodes[ancestor].recursive = true;
		*ret = ancestor;
		return 0;
	}
	node = (struct tree_node){
		.parent = from,
		.function = place->function,
		.group = QUERY_NO_GROUP,
		.site = call->site,
		.site_file = call->file,
		.site_line = call->line,
		.file = place->file,
	};
	r = add_node(b, &node, ret);
	return r ? r : map64_put(b->children, (uint64_t)from << 32 | number, *ret);
}

/* The innermost place of a frame, as the tree tells it. */
static const struct stack_place *last_place(const struct builder *b, const struct stack_frame *f)
{
	uint32_t count = b->options->no_inlined ? 1 : f->place_count;

	return &b->set->places[f->first_place + count - 1];
}

/* A call ends behind its function's start: a caller that is there is known by name only (of some
 * imports), and so is one with inlined functions of no file. */
static bool is_name_only(const struct builder *b, const struct stack_frame *f)
{
	const struct stack_place *first = &b->set->places[f->first_place];

	return f->offset == b->set->functions[first->function].start ||
	       (f->place_count > 1 && !first->file);
}

/* The call that a frame is in the middle of. */
static struct call frame_call(const struct builder *b, uint32_t frame)
{
	struct call none = {TREE_NO_SITE, NULL, 0};
	const struct stack_frame *f;
	const struct stack_place *p;

	if (frame == STACK_NO_FRAME)
		return none;
	f = &b->set->frames[frame];
	p = last_place(b, f);
	if (b->set->functions[p->function].kind == STACK_NOTE)
		return none;
	if (is_name_only(b, f))
		return (struct call){TREE_NO_SITE, p->file, p->line};
	return (struct call){f->offset, p->file, p->line};
}

static int place_frame(struct builder *b, uint32_t number)
{
	const struct stack_node *n = &b->set->nodes[number];
	const struct stack_frame *f = &b->set->frames[n->frame];
	const struct stack_place *p = &b->set->places[f->first_place];
	struct call call = frame_call(b, b->set->nodes[n->parent].frame);
	uint32_t at = b->at[n->parent];
	int r = enter_call(b, at, p, &call, &at);

	for (const struct stack_place *last = last_place(b, f); p < last && !r; p++) {
		call = (struct call){TREE_NO_SITE, p->file, p->line};
		r = enter_call(b, at, p + 1, &call, &at);
	}
	b->at[number] = at;
	return r;
}

static int place_nodes(struct builder *b)
{
	struct tree_node root = {.function = TREE_NO_FUNCTION, .site = TREE_NO_SITE};
	int r = 0;

	for (uint32_t i = 0; i < b->set->node_count && !r; i++) {
		const struct stack_node *n = &b->set->nodes[i];

		root.group = n->group;
		if (i && !b->wanted[i])
			continue;
		if (n->frame == STACK_NO_FRAME)
			r = add_node(b, &root, &b->at[i]);
		else
			r = place_frame(b, i);
	}
	return r;
}

static int match_functions(const struct builder *b, uint8_t *matched, struct diag *diag)
{
	regex_t regex;
	int r = pattern_compile(b->options->function, &regex, diag);

	if (r)
		return r;
	for (size_t i = 0; i < b->set->function_count; i++)
		if (!regexec(&regex, b->set->functions[i].name, 0, NULL, 0))
			matched[i] |= MATCH_FUNCTION;
	regfree(&regex);
	return 0;
}

static void match_images(const struct builder *b, uint8_t *matched)
{
	for (size_t i = 0; i < b->set->function_count; i++) {
		const struct query_image *image = &b->set->images[b->set->functions[i].image];

		if (query_match_image(b->options->image, &image->id, image->path))
			matched[i] |= MATCH_IMAGE;
	}
}

static uint8_t match_frame(const struct builder *b, const uint8_t *matched, uint32_t frame)
{
	const struct stack_frame *f = &b->set->frames[frame];
	uint32_t count = b->options->no_inlined ? 1 : f->place_count;
	uint8_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= matched[b->set->places[f->first_place + i].function];
	return all;
}

/* Marks what the selection keeps. */
static int select_nodes(struct builder *b, struct diag *diag)
{
	uint8_t none =
		(b->options->function ? 0 : MATCH_FUNCTION) | (b->options->image ? 0 : MATCH_IMAGE);
	const struct stack_set *s = b->set;
	uint8_t *matched = calloc(s->function_count + 1, 1);
	int r = matched ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	if (!r && b->options->function)
		r = match_functions(b, matched, diag);
	if (!r && b->options->image)
		match_images(b, matched);
	b->matches[0] = none;
	for (size_t i = 1; i < s->node_count && !r; i++) {
		b->matches[i] = b->matches[s->nodes[i].parent];
		if (s->nodes[i].frame != STACK_NO_FRAME)
			b->matches[i] |= match_frame(b, matched, s->nodes[i].frame);
	}
	for (size_t i = 0; i < s->count_count && !r; i++)
		b->wanted[s->counts[i].node] |= b->matches[s->counts[i].node] == MATCH_ALL;
	for (size_t i = s->node_count; i-- > 1 && !r;)
		b->wanted[s->nodes[i].parent] |= b->wanted[i];
	free(matched);
	return r;
}

static int sum(struct builder *b)
{
	struct tree *t = b->tree;
	size_t events = t->event_count;

	t->self = calloc(t->node_count * events + 1, sizeof(*t->self));
	t->total = calloc(t->node_count * events + 1, sizeof(*t->total));
	if (!t->self || !t->total)
		return -ENOMEM;
	for (size_t i = 0; i < b->set->count_count; i++) {
		const struct stack_count *c = &b->set->counts[i];
		uint64_t *self;

		if (b->matches[c->node] != MATCH_ALL)
			continue;
		self = &t->self[b->at[c->node] * events + c->event];
		*self = num_add_sat(*self, c->count);
		t->selected[c->event] = num_add_sat(t->selected[c->event], c->count);
	}
	memcpy(t->total, t->self, t->node_count * events * sizeof(*t->self));
	for (size_t i = t->node_count; i-- > 1;) {
		uint64_t *from = &t->total[i * events];
		uint64_t *to = &t->total[t->nodes[i].parent * events];

		for (size_t e = 0; e < events; e++)
			to[e] = num_add_sat(to[e], from[e]);
	}
	return 0;
}

static int build(struct builder *b, struct diag *diag)
{
	size_t count = b->set->node_count;

	b->steps = intern_new(TREE_NODES_MAX);
	b->children = map64_new(TREE_NODES_MAX);
	b->at = calloc(count + 1, sizeof(*b->at));
	b->matches = calloc(count + 1, sizeof(*b->matches));
	b->wanted = calloc(count + 1, sizeof(*b->wanted));
	if (!b->steps || !b->children || !b->at || !b->matches || !b->wanted)
		return diag_fail(diag, ENOMEM, "out of memory");
	int r = select_nodes(b, diag);
	if (r)
		return r;
	r = place_nodes(b);
	if (!r)
		r = sum(b);
	if (!r)
		r = tree_order(b->tree, b->tree->total);
	if (r)
		return diag_fail(diag, -r, "%s",
				 r == -ENOMEM ? "out of memory"
					      : "the calling context tree is too big for one "
						"report; select less");
	return 0;
}

int tree_new(const struct stack_set *set, const struct tree_options *options, struct tree **ret,
	     struct diag *diag)
{
	struct builder b = {.set = set, .options = options};

	b.tree = calloc(1, sizeof(*b.tree));
	if (!b.tree)
		return diag_fail(diag, ENOMEM, "out of memory");
	b.tree->set = set;
	b.tree->event_count = set->query->event_count;
	int r = build(&b, diag);
	intern_free(b.steps);
	map64_free(b.children);
	free(b.at);
	free(b.matches);
	free(b.wanted);
	if (r) {
		tree_free(b.tree);
		return r;
	}
	*ret = b.tree;
	return 0;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->children);
	free(t->self);
	free(t->total);
	free(t);
}

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
		return NUM_ORDER(t->nodes[x].group, t->nodes[y].group);
	d = strcmp(f->name, g->name);
	if (!d)
		d = strcmp(t->set->images[f->image].path, t->set->images[g->image].path);
	return d ? d : NUM_ORDER(f->start, g->start);
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

		d = NUM_ORDER(j, i);
	}
	if (!d)
		d = compare_functions(t, x, y);
	if (!d)
		d = NUM_ORDER(n->site, m->site);
	return d ? d : NUM_ORDER(n->site_line, m->site_line);
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

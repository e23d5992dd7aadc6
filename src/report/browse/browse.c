/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/browse/browse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/inclusive.h"
#include "analyze/calls/tree.h"
#include "analyze/calls/tree_callers.h"
#include "report/describe.h"
#include "util/num.h"
#include "util/array.h"

#define CALLERS_LEAST 0.0005 /* of all: what has less gets no callers */
#define CALLERS_DEPTH 64

static int read_stacks(struct report_session *s, struct browse *b, const struct rank_source *source,
		       struct diag *diag)
{
	const struct stack_options stacks = {.inlines = true};
	const struct tree_options options = {.merge_sites = true};
	struct tree_callers_options callers = {.merge_sites = true, .depth = CALLERS_DEPTH};
	int r = stack_set_finish(b->stacks, &stacks, source, diag);

	b->has_stacks = !r && b->stacks->quality.stacks;
	if (r || !b->has_stacks)
		return r;
	callers.least = (uint64_t)(CALLERS_LEAST * (double)b->stacks->totals[0]);
	if (s->progress)
		s->progress("building trees");
	r = tree_new(b->stacks, &options, &b->down, diag);
	return r ?: tree_callers(b->down, &callers, &b->up, diag);
}

static int rank_by(struct report_session *s, enum rank_by what, const struct rank_source *source,
		   const struct browse *b, struct rank **ret, struct diag *diag)
{
	const struct rank_options by = {.by = what};
	int r = rank_new(s->query, &by, source, ret, diag);

	return r || !b->has_stacks ? r : inclusive_add(*ret, &by, b->stacks, diag);
}

static int read_all(struct report_session *s, struct browse *b, struct diag *diag)
{
	struct rank_source source = report_session_source(s);
	int r = report_session_open(s, NULL, QUERY_WHOLE, diag);

	if (!r)
		r = stack_set_new(s->query, &b->stacks, diag);
	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r && s->query->event_count)
		r = read_stacks(s, b, &source, diag);
	if (!r)
		r = rank_by(s, RANK_FUNCTION, &source, b, &b->functions, diag);
	return r ?: rank_by(s, RANK_IMAGE, &source, b, &b->images, diag);
}

static int make_room(struct browse_tree *t, size_t count)
{
	t->scopes = calloc(count + 1, sizeof(*t->scopes));
	t->nodes = calloc(count + 1, sizeof(*t->nodes));
	t->children = calloc(count + 1, sizeof(*t->children));
	t->count = 1;
	return t->scopes && t->nodes && t->children ? 0 : -ENOMEM;
}

static int take_tree(const struct tree *from, struct browse_tree *to)
{
	int r = make_room(to, from ? from->node_count : 1);

	if (r || !from)
		return r;
	to->count = from->node_count;
	for (uint32_t i = 0; i < from->node_count; i++) {
		const struct tree_node *n = &from->nodes[i];
		const struct stack_function *f = tree_function(from, i);
		struct browse_scope *s = &to->scopes[i];

		to->nodes[i] = (struct outline_node){n->parent, n->first_child, n->child_count};
		s->name = f ? f->name : "";
		s->self = tree_self(from, i, 0);
		s->total = tree_total(from, i, 0);
		s->inlined = f && f->inlined;
		s->image = f && f->kind == STACK_CODE && !f->inlined && !f->by_name
				   ? &from->set->images[f->image]
				   : NULL;
		s->start = s->image ? f->start : 0;
	}
	/* The root's children are from 1 on, where there are some. */
	memcpy(to->children, from->children, (from->node_count - 1) * sizeof(*to->children));
	return 0;
}

static struct browse_scope row_scope(const struct rank_row *row, const char *name)
{
	return (struct browse_scope){.name = name,
				     .self = row->counts[0],
				     .total = row->inclusive ? row->inclusive[0] : row->counts[0]};
}

/* By identity: rows of what was only on stacks have the image from there. */
static int compare_images(const struct query_image *a, const struct query_image *b)
{
	if (!a || !b)
		return NUM_ORDER(a != NULL, b != NULL);
	return memcmp(&a->id, &b->id, sizeof(a->id));
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct rank_row *a = *(const struct rank_row *const *)pa;
	const struct rank_row *b = *(const struct rank_row *const *)pb;

	return compare_images(a->image, b->image);
}

static uint32_t add(struct browse_tree *t, uint32_t parent, struct browse_scope scope)
{
	uint32_t node = (uint32_t)t->count++;

	t->scopes[node] = scope;
	t->nodes[node].parent = parent;
	return node;
}

/* Numbers the children, which follow one another as they were added. */
static void number_children(struct browse_tree *t)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < t->count; i++)
		t->nodes[t->nodes[i].parent].child_count++;
	for (uint32_t i = 0; i < t->count; i++) {
		t->nodes[i].first_child = at;
		at += t->nodes[i].child_count;
		t->nodes[i].child_count = 0;
	}
	for (uint32_t i = 1; i < t->count; i++) {
		struct outline_node *parent = &t->nodes[t->nodes[i].parent];

		t->children[parent->first_child + parent->child_count++] = i;
	}
}

static struct browse_scope image_scope(const struct browse *b, const struct rank_row *first)
{
	const char *path = first->image ? first->image->path : "";

	for (size_t i = 0; i < b->images->row_count; i++)
		if (!compare_images(b->images->rows[i].image, first->image))
			return row_scope(&b->images->rows[i],
					 *path ? path : first->function ?: RANK_UNKNOWN);
	return (struct browse_scope){.name = path};
}

/* Images as in the ranking by image, in each its functions. */
static int take_flat(struct browse *b)
{
	struct browse_tree *t = &b->trees[BROWSE_FLAT];
	const struct rank *k = b->functions;
	const struct rank_row **rows = calloc(k->row_count + 1, sizeof(*rows));
	uint32_t image = 0;
	int r = make_room(t, 2 * k->row_count + 1);

	if (!rows || r) {
		free(rows);
		return -ENOMEM;
	}
	for (size_t i = 0; i < k->row_count; i++)
		rows[i] = &k->rows[i];
	array_sort(rows, k->row_count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < k->row_count; i++) {
		struct browse_scope s = row_scope(rows[i], rows[i]->function ?: RANK_NO_SYMBOL);

		if (i == 0 || compare_images(rows[i]->image, rows[i - 1]->image))
			image = add(t, 0, image_scope(b, rows[i]));
		s.image = rows[i]->size ? rows[i]->image : NULL;
		s.start = rows[i]->start;
		add(t, image, s);
	}
	free(rows);
	number_children(t);
	return 0;
}

int browse_make(struct report_session *s, struct browse *ret, struct report_header *h,
		struct diag *diag)
{
	*ret = (struct browse){0};
	int r = read_all(s, ret, diag);
	if (r)
		return r;
	report_describe(h, s);
	report_describe_rank(h, s->query, ret->functions, false);
	if (ret->has_stacks)
		report_describe_stacks(h, ret->stacks);
	if (!s->query->event_count)
		return diag_fail(diag, ENODATA,
				 "there are no samples in these epochs and this "
				 "selection");
	ret->all = ret->functions->totals[0];
	/* Of an event that has stacks alone. */
	if (ret->has_stacks && ret->stacks->totals[0] > ret->all)
		ret->all = ret->stacks->totals[0];
	ret->event = s->query->events[0].label;
	r = take_tree(ret->down, &ret->trees[BROWSE_DOWN]);
	r = r ?: take_tree(ret->up, &ret->trees[BROWSE_UP]);
	r = r ?: take_flat(ret);
	for (int v = 0; v < BROWSE_VIEWS && !r; v++)
		browse_sort(&ret->trees[v], v == BROWSE_DOWN ? BROWSE_BY_TOTAL : BROWSE_BY_SELF);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

void browse_free(struct browse *b)
{
	for (int v = 0; v < BROWSE_VIEWS; v++) {
		free(b->trees[v].scopes);
		free(b->trees[v].nodes);
		free(b->trees[v].children);
	}
	rank_free(b->functions);
	rank_free(b->images);
	tree_free(b->up);
	tree_free(b->down);
	stack_set_free(b->stacks);
	*b = (struct browse){0};
}

struct order {
	const struct browse_tree *tree;
	enum browse_order by;
};

static int compare_children(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	uint32_t na = *(const uint32_t *)pa, nb = *(const uint32_t *)pb;
	const struct browse_scope *a = &o->tree->scopes[na], *b = &o->tree->scopes[nb];
	int by_total = NUM_ORDER(b->total, a->total), by_self = NUM_ORDER(b->self, a->self);
	int by_name = strcmp(a->name, b->name), by_number = NUM_ORDER(na, nb);

	if (o->by == BROWSE_BY_NAME)
		return by_name ?: by_total ?: by_number;
	if (o->by == BROWSE_BY_SELF)
		return by_self ?: by_total ?: by_name ?: by_number;
	return by_total ?: by_self ?: by_name ?: by_number;
}

void browse_sort(struct browse_tree *t, enum browse_order by)
{
	struct order o = {t, by};

	for (size_t i = 0; i < t->count; i++)
		if (t->nodes[i].child_count)
			qsort_r(t->children + t->nodes[i].first_child, t->nodes[i].child_count,
				sizeof(*t->children), compare_children, &o);
}

uint32_t browse_hot(const struct browse_tree *t, uint32_t node)
{
	for (;;) {
		const struct outline_node *n = &t->nodes[node];
		uint32_t best = 0;

		for (uint32_t i = 0; i < n->child_count; i++) {
			uint32_t child = t->children[n->first_child + i];

			if (!best || t->scopes[child].total > t->scopes[best].total)
				best = child;
		}
		if (!best || (node && 2 * t->scopes[best].total < t->scopes[node].total))
			return node;
		node = best;
	}
}

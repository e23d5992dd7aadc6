/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/num.h"

/* Equal keys are one scope. */
struct scope_key {
	uint32_t parent, kind;
	uint32_t what; /* the number of the context, the loop or the position */
};

struct scope_range {
	uint32_t scope;
	struct image_range range;
};

struct making {
	const struct source *source;
	const struct nest *nest;
	const struct moves *moves;
	/* Each scope stands behind the one around it. */
	struct structure_scope *scopes;
	struct intern *keys;
	uint32_t *loop_scopes; /* for each loop that stands for itself */
	struct scope_range *ranges;
	size_t count, room, range_count, range_room;
};

static int add_scope(struct making *m, uint32_t parent, enum structure_kind kind, uint32_t what,
		     const struct structure_scope *scope, uint32_t *ret)
{
	const struct scope_key key = {parent, kind, what};
	int r = intern_add(m->keys, &key, sizeof(key), ret);

	if (r || *ret < m->count)
		return r;
	if (array_grow(&m->scopes, m->count, &m->room, sizeof(*m->scopes), 64))
		return -ENOMEM;
	m->scopes[m->count] = *scope;
	m->scopes[m->count].kind = kind;
	m->scopes[m->count++].parent = parent;
	return 0;
}

static int add_range(struct making *m, uint32_t scope, uint64_t start, uint64_t end)
{
	if (array_grow(&m->ranges, m->range_count, &m->range_room, sizeof(*m->ranges), 64))
		return -ENOMEM;
	m->ranges[m->range_count++] = (struct scope_range){scope, {start, end}};
	return 0;
}

/* Of the scopes around, up to the function that the line is written in. */
static void widen(struct making *m, uint32_t scope, uint32_t position)
{
	const struct source_position *p = &m->source->positions[position];
	struct structure_scope *s;

	if (source_is_stray(m->source, position))
		return;
	do {
		s = &m->scopes[scope];
		scope = s->parent;
		if (s->file != p->file)
			continue;
		if (!s->first_line || p->line < s->first_line)
			s->first_line = p->line;
		if (p->line > s->last_line)
			s->last_line = p->line;
	} while (s->kind == STRUCTURE_LOOP);
}

static int add_inlined(struct making *m, uint32_t parent, uint32_t context, uint32_t *ret)
{
	const struct source_context *c = &m->source->contexts[context];
	struct structure_scope scope = {
		.name = c->name,
		.linkage = c->linkage,
		.file = c->file,
		.address = UINT64_MAX,
	};

	if (c->call != SOURCE_NONE) {
		scope.call_file = m->source->positions[c->call].file;
		scope.call_line = m->source->positions[c->call].line;
	}
	const size_t before = m->count;
	int r = add_scope(m, parent, STRUCTURE_INLINED, context, &scope, ret);
	if (!r && m->count > before && c->call != SOURCE_NONE)
		widen(m, parent, c->call);
	return r;
}

/* The scope of a context's code in a loop, whose scope is there already. */
static int find_scope(struct making *m, uint32_t loop, uint32_t context, uint32_t *ret)
{
	const bool in_loop = loop != MACHINE_NO_LOOP;
	const uint32_t outer = in_loop ? m->nest->loops[loop].context : 0;
	uint32_t way[SOURCE_DEPTH_MAX], depth = 0, scope = in_loop ? m->loop_scopes[loop] : 0;
	int r = 0;

	for (uint32_t c = context; c != outer; c = m->source->contexts[c].parent)
		way[depth++] = c;
	while (depth > 0 && !r)
		r = add_inlined(m, scope, way[--depth], &scope);
	*ret = scope;
	return r;
}

static int add_loop(struct making *m, uint32_t loop)
{
	const struct nest_loop *l = &m->nest->loops[loop];
	const uint32_t parent = nest_parent(m->nest, loop);
	struct structure_scope scope = {
		.irreducible = l->irreducible,
		.copies = l->copies,
		.depth = 1,
		.file = l->file,
		.address = m->source->function->loops[loop].header,
	};
	uint32_t around;
	int r = find_scope(m, parent, l->context, &around);

	if (r)
		return r;
	if (parent != MACHINE_NO_LOOP)
		scope.depth = m->scopes[m->loop_scopes[parent]].depth + 1;
	if (!scope.file)
		scope.file = m->scopes[around].file;
	return add_scope(m, around, STRUCTURE_LOOP, loop, &scope, &m->loop_scopes[loop]);
}

/* Outer loops before those inside them. */
static int add_loops(struct making *m)
{
	const struct nest *n = m->nest;
	uint64_t *order = reallocarray(NULL, (size_t)n->count + 1, sizeof(*order));
	size_t count = 0;
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t depth = 0;

		if (nest_loop_of(n, i) != i)
			continue;
		for (uint32_t l = nest_parent(n, i); l != MACHINE_NO_LOOP; l = nest_parent(n, l))
			depth++;
		order[count++] = depth << 32 | i;
	}
	count = num_sort_unique(order, count);
	for (size_t i = 0; i < count && !r; i++)
		r = add_loop(m, (uint32_t)order[i]);
	free(order);
	return r;
}

static int add_statement(struct making *m, const struct source_piece *p)
{
	const struct source_position *at;
	uint32_t around, scope;
	int r = find_scope(m, moves_settle(m->moves, p), p->context, &around);

	if (r || p->position == SOURCE_NONE)
		return r;
	at = &m->source->positions[p->position];
	r = add_scope(m, around, STRUCTURE_STATEMENT, p->position,
		      &(struct structure_scope){.file = at->file,
						.first_line = at->line,
						.last_line = at->line,
						.address = UINT64_MAX},
		      &scope);
	if (!r)
		widen(m, around, p->position);
	return r ? r : add_range(m, scope, p->start, p->end);
}

/* Of the function, and of each loop what its copies repeat. */
static int add_code(struct making *m, const struct machine_piece *p)
{
	uint32_t loop = nest_loop_of(m->nest, p->loop);
	int r = add_range(m, 0, p->start, p->end);

	for (; loop != MACHINE_NO_LOOP && !r; loop = nest_parent(m->nest, loop))
		r = add_range(m, m->loop_scopes[loop], p->start, p->end);
	return r;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct scope_range *a = pa, *b = pb;

	return NUM_ORDER(a->scope, b->scope) ?: NUM_ORDER(a->range.start, b->range.start);
}

/* Joins neighbours; gives each scope its own. */
static void share_ranges(struct making *m, struct image_range *list)
{
	size_t count = 0;

	array_sort(m->ranges, m->range_count, sizeof(*m->ranges), compare_ranges);
	for (size_t i = 0; i < m->range_count; i++) {
		const struct scope_range *r = &m->ranges[i];
		struct structure_scope *s = &m->scopes[r->scope];

		if (s->range_count && list[count - 1].end == r->range.start) {
			list[count - 1].end = r->range.end;
			continue;
		}
		if (!s->range_count++) {
			s->ranges = &list[count];
			if (s->kind == STRUCTURE_STATEMENT)
				s->address = r->range.start;
		}
		list[count++] = r->range;
	}
}

/* Code inlined begins with the first of what is in it. */
static void find_addresses(struct making *m)
{
	for (size_t i = m->count; i-- > 1;) {
		struct structure_scope *around = &m->scopes[m->scopes[i].parent];

		if (around->kind == STRUCTURE_INLINED && m->scopes[i].address < around->address)
			around->address = m->scopes[i].address;
	}
}

static uint32_t line_of(const struct structure_scope *s)
{
	return s->kind == STRUCTURE_INLINED ? s->call_line : s->first_line;
}

/* By the scope around them; there by line, by address, and then what is around more first. */
static int compare_scopes(const void *pa, const void *pb, void *arg)
{
	const struct structure_scope *list = arg;
	const uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	const struct structure_scope *a = &list[i], *b = &list[k];

	return NUM_ORDER(a->parent, b->parent) ?: NUM_ORDER(line_of(a), line_of(b))
		       ?: NUM_ORDER(a->address, b->address) ?: NUM_ORDER(i, k);
}

/* Copies the scopes to ret in preorder. order: their numbers, those inside one scope together;
 * first: for each, where those inside it begin in order. */
static void copy_preorder(const struct making *m, const uint32_t *order, const uint32_t *first,
			  uint32_t *next, struct scopes *ret)
{
	uint32_t at = 0, place = 0; /* the number at hand, and its place in ret */

	ret->list[ret->count++] = m->scopes[0];
	for (;;) {
		if (next[at] < first[at + 1]) {
			at = order[next[at]++];
			ret->list[ret->count] = m->scopes[at];
			ret->list[ret->count].parent = place;
			place = ret->count++;
			continue;
		}
		ret->list[place].end = ret->count;
		if (at == 0)
			return;
		at = m->scopes[at].parent;
		place = ret->list[place].parent;
	}
}

static int put_in_order(const struct making *m, struct scopes *ret)
{
	const uint32_t count = (uint32_t)m->count;
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	uint32_t *first = calloc((size_t)count + 2, sizeof(*first));
	uint32_t *next = calloc((size_t)count + 2, sizeof(*next));

	ret->list = calloc((size_t)count + 1, sizeof(*ret->list));
	if (order && first && next && ret->list) {
		for (uint32_t i = 1; i < count; i++)
			order[i - 1] = i;
		qsort_r(order, count - 1, sizeof(*order), compare_scopes, m->scopes);
		for (uint32_t i = 0, k = 0; i <= count; i++) {
			while (k < count - 1 && m->scopes[order[k]].parent < i)
				k++;
			first[i] = next[i] = k;
		}
		copy_preorder(m, order, first, next, ret);
	}
	free(order);
	free(first);
	free(next);
	return ret->count ? 0 : -ENOMEM;
}

static int make(struct making *m, const struct structure_scope *function, struct scopes *ret)
{
	const struct source *s = m->source;
	uint32_t number;
	int r = add_scope(m, 0, STRUCTURE_FUNCTION, 0, function, &number);

	if (!r)
		r = add_loops(m);
	for (uint32_t i = 0; i < s->piece_count && !r; i++)
		r = add_statement(m, &s->pieces[i]);
	for (uint32_t i = 0; i < s->function->piece_count && !r; i++)
		r = add_code(m, &s->function->pieces[i]);
	ret->ranges = r ? NULL : calloc(m->range_count + 1, sizeof(*ret->ranges));
	if (!ret->ranges)
		return -ENOMEM;
	share_ranges(m, ret->ranges);
	find_addresses(m);
	return put_in_order(m, ret);
}

int scopes_new(const struct moves *moves, const struct structure_scope *function,
	       struct scopes *ret)
{
	struct making m = {
		.moves = moves,
		.nest = moves->nest,
		.source = moves->nest->source,
		.keys = intern_new(UINT32_MAX - 1),
		.loop_scopes = calloc((size_t)moves->nest->count + 1, sizeof(*m.loop_scopes)),
	};

	*ret = (struct scopes){0};
	int r = m.keys && m.loop_scopes ? make(&m, function, ret) : -ENOMEM;
	free(m.scopes);
	free(m.ranges);
	free(m.loop_scopes);
	intern_free(m.keys);
	return r ? -ENOMEM : 0;
}

void scopes_free(struct scopes *s)
{
	free(s->list);
	free(s->ranges);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/nest.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/num.h"

uint32_t nest_loop_of(const struct nest *n, uint32_t loop)
{
	while (loop != MACHINE_NO_LOOP && n->loops[loop].stands != loop)
		loop = n->loops[loop].stands;
	return loop;
}

uint32_t nest_parent(const struct nest *n, uint32_t loop)
{
	return nest_loop_of(n, n->loops[loop].parent);
}

bool nest_has(const struct nest *n, uint32_t outer, uint32_t inner)
{
	if (outer == MACHINE_NO_LOOP)
		return true;
	while (inner != MACHINE_NO_LOOP && inner != outer)
		inner = nest_parent(n, inner);
	return inner == outer;
}

uint32_t nest_home(const struct nest *n, uint32_t loop, uint32_t context)
{
	while (loop != MACHINE_NO_LOOP &&
	       !source_is_around(n->source, n->loops[loop].context, context))
		loop = nest_parent(n, loop);
	return loop;
}

bool nest_knows_lines(const struct nest *n, uint32_t loop, uint32_t position)
{
	const struct nest_loop *l = &n->loops[loop];
	const struct source_position *p = &n->source->positions[position];

	return l->first_line && l->context == p->context && l->file == p->file;
}

bool nest_has_line(const struct nest *n, uint32_t loop, uint32_t position)
{
	const struct nest_loop *l = &n->loops[loop];
	const uint32_t line = n->source->positions[position].line;

	return nest_knows_lines(n, loop, position) && line >= l->first_line && line <= l->last_line;
}

static void place_loop(struct nest *n, uint32_t loop, uint32_t context)
{
	struct nest_loop *l = &n->loops[loop];

	l->context = l->placed ? source_common(n->source, l->context, context) : context;
	l->placed = true;
}

/* The innermost context that has all branches which continue or leave the loop, as far as their
 * lines are known; of a loop without such, that of the loop around it. */
static void place_loops(struct nest *n)
{
	const struct source *s = n->source;
	const struct machine_function *f = s->function;

	for (uint32_t i = 0; i < f->control_count; i++) {
		const struct source_piece *p = source_piece_at(s, f->controls[i].address);

		if (p && p->position != SOURCE_NONE)
			place_loop(n, f->controls[i].loop, p->context);
	}
	/* Inner loops stand behind those around them, which must have their contexts too. */
	for (uint32_t i = n->count; i-- > 0;) {
		const struct nest_loop *l = &n->loops[i];

		if (l->placed && l->parent != MACHINE_NO_LOOP)
			place_loop(n, l->parent, l->context);
	}
	for (uint32_t i = 0; i < n->count; i++) {
		struct nest_loop *l = &n->loops[i];

		if (!l->placed && l->parent != MACHINE_NO_LOOP)
			l->context = n->loops[l->parent].context;
	}
}

static void add_latch(struct nest_loop *l, uint32_t position)
{
	for (uint32_t i = 0; i < l->latch_count; i++)
		if (l->latches[i] == position)
			return;
	if (l->latch_count < NEST_LATCHES_MAX)
		l->latches[l->latch_count++] = position;
}

static void find_latches(struct nest *n)
{
	const struct source *s = n->source;
	const struct machine_function *f = s->function;

	for (uint32_t i = 0; i < f->control_count; i++) {
		const struct machine_control *c = &f->controls[i];
		const struct source_piece *p = c->latch ? source_piece_at(s, c->address) : NULL;
		struct nest_loop *l = &n->loops[c->loop];

		if (!p || !source_is_around(s, l->context, p->context))
			continue;
		const uint32_t position = source_position_in(s, p, l->context);
		if (position != SOURCE_NONE)
			add_latch(l, position);
	}
}

static uint32_t depth_of(const struct nest *n, uint32_t loop)
{
	uint32_t depth = 0;

	for (; loop != MACHINE_NO_LOOP; loop = nest_parent(n, loop))
		depth++;
	return depth;
}

/* One stands for both from now on, in the place of the one that is deeper: where a whole iteration
 * of the loop around them was peeled off, the other copy stands outside. */
static void join(struct nest *n, uint32_t a, uint32_t b)
{
	const uint32_t parent =
		depth_of(n, a) < depth_of(n, b) ? n->loops[b].parent : n->loops[a].parent;

	n->loops[b].stands = a;
	n->loops[a].parent = parent;
	n->loops[a].copies += n->loops[b].copies;
	n->loops[a].irreducible |= n->loops[b].irreducible;
	for (uint32_t i = 0; i < n->loops[b].latch_count; i++)
		add_latch(&n->loops[a], n->loops[b].latches[i]);
}

static int join_copies(struct nest *n)
{
	uint32_t *first = malloc(((size_t)n->source->position_count + 1) * sizeof(*first));

	if (!first)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->source->position_count; i++)
		first[i] = MACHINE_NO_LOOP;
	for (uint32_t i = 0; i < n->count; i++) {
		for (uint32_t k = 0; k < n->loops[i].latch_count; k++) {
			uint32_t *known = &first[n->loops[i].latches[k]];
			uint32_t a = nest_loop_of(n, *known), b = nest_loop_of(n, i);

			if (a == MACHINE_NO_LOOP)
				*known = i;
			else if (!nest_has(n, a, b) && !nest_has(n, b, a))
				join(n, a, b);
		}
	}
	free(first);
	return 0;
}

static int add_occurrence(struct nest *n, uint32_t position, uint32_t loop)
{
	if (array_grow(&n->occurrences, n->occurrence_count, &n->occurrence_room,
		       sizeof(*n->occurrences), 64))
		return -ENOMEM;
	n->occurrences[n->occurrence_count++] = (uint64_t)position << 32 | loop;
	return 0;
}

/* Each piece is on its own line, and on that of each call around it. */
static int find_occurrences(struct nest *n)
{
	const struct source *s = n->source;
	int r = 0;

	for (uint32_t i = 0; i < s->piece_count; i++) {
		const struct source_piece *p = &s->pieces[i];
		uint32_t position = p->position, loop = nest_loop_of(n, p->loop);

		for (uint32_t c = p->context; c != SOURCE_NONE && !r; c = s->contexts[c].parent) {
			loop = nest_home(n, loop, c);
			if (position != SOURCE_NONE)
				r = add_occurrence(n, position, loop);
			position = s->contexts[c].call;
		}
	}
	n->occurrence_count = num_sort_unique(n->occurrences, n->occurrence_count);
	return r;
}

int nest_new(const struct source *s, struct nest *ret)
{
	const struct machine_function *f = s->function;

	*ret = (struct nest){.source = s, .count = f->loop_count};
	ret->loops = calloc((size_t)f->loop_count + 1, sizeof(*ret->loops));
	if (!ret->loops)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->loop_count; i++)
		ret->loops[i] = (struct nest_loop){
			.parent = f->loops[i].parent,
			.stands = i,
			.copies = 1,
			.irreducible = f->loops[i].irreducible,
		};
	place_loops(ret);
	find_latches(ret);
	int r = join_copies(ret);
	if (!r)
		r = find_occurrences(ret);
	return r ? r : nest_find_lines(ret);
}

void nest_free(struct nest *n)
{
	free(n->loops);
	free(n->occurrences);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "structure/nest.h"
#include "util/num.h"
#include "util/search.h"

/*
 * Which lines a loop has: those on which it is repeated, those that have code nowhere else, and all
 * between them. Then those that follow, as long as each has code in the loop: where an iteration
 * was peeled off, all of its lines have code around it too. Those before are in doubt: the first
 * line of for and while is the one on which they are repeated, of do it is not.
 */

struct lines {
	struct nest *nest;
	uint32_t *order; /* positions by context, file and line */
	bool *alone;	 /* for each loop: lines other than its latches' are in it alone */
};

static void add_line(struct nest_loop *l, const struct source_position *p)
{
	if (!l->file)
		l->file = p->file;
	if (l->file != p->file)
		return;
	if (!l->first_line || p->line < l->first_line)
		l->first_line = p->line;
	if (p->line > l->last_line)
		l->last_line = p->line;
}

/* The innermost loop around both. */
static uint32_t common_loop(const struct nest *n, uint32_t a, uint32_t b)
{
	while (a != MACHINE_NO_LOOP && !nest_has(n, a, b))
		a = nest_parent(n, a);
	return a;
}

static bool is_latch(const struct nest_loop *l, uint32_t position)
{
	for (uint32_t i = 0; i < l->latch_count; i++)
		if (l->latches[i] == position)
			return true;
	return false;
}

/* What is known without doubt. */
static void add_sure_lines(struct lines *s)
{
	struct nest *n = s->nest;

	for (uint32_t i = 0; i < n->count; i++)
		for (uint32_t k = 0; k < n->loops[i].latch_count; k++)
			add_line(&n->loops[i], &n->source->positions[n->loops[i].latches[k]]);
	for (size_t i = 0, next; i < n->occurrence_count; i = next) {
		const uint32_t position = (uint32_t)(n->occurrences[i] >> 32);
		const struct source_position *p = &n->source->positions[position];
		uint32_t loop = (uint32_t)n->occurrences[i];

		for (next = i + 1; next < n->occurrence_count &&
				   n->occurrences[next] >> 32 == n->occurrences[i] >> 32;
		     next++)
			loop = common_loop(n, loop, (uint32_t)n->occurrences[next]);
		for (; loop != MACHINE_NO_LOOP; loop = nest_parent(n, loop)) {
			if (n->loops[loop].context != p->context ||
			    source_is_stray(n->source, position))
				continue;
			add_line(&n->loops[loop], p);
			s->alone[loop] |= !is_latch(&n->loops[loop], position);
		}
	}
}

static int compare_positions(const void *pa, const void *pb, void *arg)
{
	const struct source_position *list = arg;
	const uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	const struct source_position *a = &list[i], *b = &list[k];

	return NUM_ORDER(a->context, b->context)
		       ?: NUM_ORDER((uintptr_t)a->file, (uintptr_t)b->file)
		       ?: NUM_ORDER(a->line, b->line) ?: NUM_ORDER(i, k);
}

static bool occurs_in(const struct nest *n, uint32_t position, uint32_t loop)
{
	size_t i = SEARCH_FIRST(n->occurrence_count, k, n->occurrences[k] >> 32 >= position);

	for (; i < n->occurrence_count && n->occurrences[i] >> 32 == position; i++)
		if ((uint32_t)n->occurrences[i] != MACHINE_NO_LOOP &&
		    nest_has(n, loop, (uint32_t)n->occurrences[i]))
			return true;
	return false;
}

/* The place of the loop's first or last line in the order. */
static uint32_t find_place(const struct lines *s, const struct nest_loop *l, uint32_t line)
{
	const struct source_position *list = s->nest->source->positions;

	return (uint32_t)SEARCH_FIRST(
		s->nest->source->position_count, i,
		list[s->order[i]].context > l->context ||
			(list[s->order[i]].context == l->context &&
			 ((uintptr_t)list[s->order[i]].file > (uintptr_t)l->file ||
			  (list[s->order[i]].file == l->file && list[s->order[i]].line >= line))));
}

/* Takes lines from a place on, upwards or downwards, that have code in the loop. */
static void widen(struct lines *s, uint32_t loop, uint32_t place, int step)
{
	const struct source *source = s->nest->source;
	struct nest_loop *l = &s->nest->loops[loop];

	for (place += (uint32_t)step; place < source->position_count; place += (uint32_t)step) {
		const struct source_position *p = &source->positions[s->order[place]];

		if (p->context != l->context || p->file != l->file ||
		    source_is_stray(source, s->order[place]) ||
		    !occurs_in(s->nest, s->order[place], loop))
			return;
		add_line(l, p);
	}
}

static bool is_repeated_on(const struct nest *n, const struct nest_loop *l, uint32_t line)
{
	for (uint32_t i = 0; i < l->latch_count; i++)
		if (n->source->positions[l->latches[i]].line == line)
			return true;
	return false;
}

static void widen_loop(struct lines *s, uint32_t loop)
{
	struct nest_loop *l = &s->nest->loops[loop];
	const uint32_t first = l->first_line, last = l->last_line;
	const bool alone = s->alone[loop];

	if (l->stands != loop || !first)
		return;
	if (!alone || !is_repeated_on(s->nest, l, last))
		widen(s, loop, find_place(s, l, last), 1);
	if (alone ? !is_repeated_on(s->nest, l, first) : l->last_line == last)
		widen(s, loop, find_place(s, l, first), -1);
}

int nest_find_lines(struct nest *n)
{
	const uint32_t count = n->source->position_count;
	struct lines s = {
		.nest = n,
		.order = calloc((size_t)count + 1, sizeof(*s.order)),
		.alone = calloc((size_t)n->count + 1, sizeof(*s.alone)),
	};
	const int r = s.order && s.alone ? 0 : -ENOMEM;

	if (!r) {
		for (uint32_t i = 0; i < count; i++)
			s.order[i] = i;
		if (count)
			qsort_r(s.order, count, sizeof(*s.order), compare_positions,
				n->source->positions);
		add_sure_lines(&s);
		for (uint32_t i = 0; i < n->count; i++)
			widen_loop(&s, i);
	}
	free(s.order);
	free(s.alone);
	return r;
}

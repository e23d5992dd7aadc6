/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/moves.h"

#include <errno.h>

/* A line that is in more loops than this stays where it is: comparing all pairs would take long. */
#define LOOPS_MAX 256
#define STEPS_MAX 4 /* out of one loop, into another */

enum belongs { BELONGS_OUT, BELONGS_IN, BELONGS_EITHER };

/* Of a line that is in the loop and around it. */
static enum belongs belongs(const struct nest *n, uint32_t loop, uint32_t position)
{
	if (nest_knows_lines(n, loop, position))
		return nest_has_line(n, loop, position) ? BELONGS_IN : BELONGS_OUT;
	/* In an inlined function: the line of its call decides. */
	if (n->loops[loop].context != n->source->positions[position].context)
		return BELONGS_EITHER;
	return BELONGS_IN;
}

static bool is_inside(const struct nest *n, uint32_t outer, uint32_t inner)
{
	return outer != inner && inner != MACHINE_NO_LOOP && nest_has(n, outer, inner);
}

/* Where occurrence k of a line, of which there are count, belongs. */
static uint32_t find_target(const struct nest *n, const uint64_t *list, size_t count, size_t k)
{
	const uint32_t position = (uint32_t)(list[0] >> 32), here = (uint32_t)list[k];
	const bool leaves = here != MACHINE_NO_LOOP && belongs(n, here, position) == BELONGS_OUT;
	uint32_t in = here, out = here;

	for (size_t i = 0; i < count; i++) {
		const uint32_t loop = (uint32_t)list[i];

		if (is_inside(n, in, loop) && belongs(n, loop, position) == BELONGS_IN)
			in = loop;
		if (leaves && is_inside(n, loop, here) && (out == here || is_inside(n, out, loop)))
			out = loop;
	}
	return leaves ? out : in;
}

int moves_new(const struct nest *n, struct moves *ret)
{
	*ret = (struct moves){n, map64_new(n->occurrence_count + 1)};
	if (!ret->targets)
		return -ENOMEM;
	for (size_t i = 0, next; i < n->occurrence_count; i = next) {
		const uint64_t *list = &n->occurrences[i];

		for (next = i + 1;
		     next < n->occurrence_count && n->occurrences[next] >> 32 == list[0] >> 32;)
			next++;
		for (size_t k = 0; next - i > 1 && next - i <= LOOPS_MAX && k < next - i; k++) {
			const uint32_t target = find_target(n, list, next - i, k);

			if (target != (uint32_t)list[k] && map64_put(ret->targets, list[k], target))
				return -ENOMEM;
		}
	}
	return 0;
}

void moves_free(struct moves *m)
{
	map64_free(m->targets);
}

static uint32_t follow(const struct moves *m, uint32_t position, uint32_t loop)
{
	uint64_t target;

	for (int i = 0; i < STEPS_MAX; i++) {
		if (map64_get(m->targets, (uint64_t)position << 32 | loop, &target))
			break;
		loop = (uint32_t)target;
	}
	return loop;
}

uint32_t moves_settle(const struct moves *m, const struct source_piece *p)
{
	const struct source *s = m->nest->source;
	uint32_t positions[SOURCE_DEPTH_MAX], contexts[SOURCE_DEPTH_MAX], count = 0;
	uint32_t loop = nest_home(m->nest, nest_loop_of(m->nest, p->loop), p->context);
	uint32_t position = p->position;

	for (uint32_t c = p->context; c != SOURCE_NONE; c = s->contexts[c].parent) {
		positions[count] = position;
		contexts[count++] = c;
		position = s->contexts[c].call;
	}
	/* From the function's own line inwards. Code of a loop that was inlined stays in it. */
	while (count-- > 0) {
		if (positions[count] != SOURCE_NONE &&
		    nest_home(m->nest, loop, contexts[count]) == loop)
			loop = follow(m, positions[count], loop);
	}
	return loop;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/machine.h"

#include <errno.h>
#include <stdlib.h>
#include "cfg/function_graph.h"

struct reading {
	const struct cfg_function *function;
	struct cfg_loops *loops;
	uint32_t *kept; /* for each loop of the graph: the one that stands for it */
	struct machine_function *ret;
	struct arena *memory;
};

static int take_loops(struct reading *r)
{
	struct machine_function *m = r->ret;

	m->loops = arena_alloc(r->memory, r->loops->loop_count * sizeof(*m->loops));
	if (!m->loops)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->loops->loop_count; i++) {
		const struct cfg_loop *l = &r->loops->loops[i];
		uint32_t parent = l->parent == CFG_LOOP_NONE ? MACHINE_NO_LOOP : r->kept[l->parent];

		if (l->depth > MACHINE_DEPTH_MAX) {
			r->kept[i] = parent;
			m->loops_refused++;
			continue;
		}
		r->kept[i] = m->loop_count;
		m->loops[m->loop_count++] = (struct machine_loop){
			.header = r->function->blocks[l->header].start,
			.parent = parent,
			.depth = l->depth,
			.irreducible = l->irreducible,
		};
	}
	return 0;
}

static uint32_t loop_of(const struct reading *r, uint32_t block)
{
	uint32_t loop = r->loops->innermost[block];

	return loop == CFG_LOOP_NONE ? MACHINE_NO_LOOP : r->kept[loop];
}

/* Neighbours in the same loop are one piece. Blocks may overlap in code written by hand. */
static uint32_t cut_pieces(const struct reading *r, struct machine_piece *list)
{
	const struct cfg_function *f = r->function;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->block_count; i++) {
		const struct cfg_block *b = &f->blocks[i];
		struct machine_piece *last = count ? &list[count - 1] : NULL;
		uint64_t start = last && last->end > b->start ? last->end : b->start;
		uint32_t loop = loop_of(r, i);

		if (start >= b->end)
			continue;
		if (last && last->end == start && last->loop == loop)
			last->end = b->end;
		else
			list[count++] = (struct machine_piece){start, b->end, loop};
	}
	return count;
}

static int take_pieces(struct reading *r)
{
	struct machine_function *m = r->ret;
	struct machine_piece *list =
		reallocarray(NULL, (size_t)r->function->block_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	m->piece_count = cut_pieces(r, list);
	m->pieces = arena_alloc(r->memory, m->piece_count * sizeof(*list));
	for (uint32_t i = 0; m->pieces && i < m->piece_count; i++)
		m->pieces[i] = list[i];
	free(list);
	return m->pieces ? 0 : -ENOMEM;
}

/* Where the edge leads back to a header, or out of loops. Counts only, if list is NULL. */
static uint32_t add_controls(const struct reading *r, const struct cfg_edge *e,
			     struct machine_control *list, uint32_t count)
{
	const struct cfg_function *f = r->function;
	const struct cfg_loop *loops = r->loops->loops;
	uint32_t loop;

	if (e->from == CFG_OUTSIDE || e->to == CFG_OUTSIDE)
		return count;
	const uint64_t at = cfg_block_last(f, &f->blocks[e->from])->address;
	loop = r->loops->innermost[e->to];
	if (loop != CFG_LOOP_NONE && loops[loop].header == e->to &&
	    loops[loop].depth <= MACHINE_DEPTH_MAX && cfg_loop_has(r->loops, loop, e->from)) {
		if (list)
			list[count] = (struct machine_control){at, r->kept[loop], true};
		count++;
	}
	for (loop = r->loops->innermost[e->from];
	     loop != CFG_LOOP_NONE && !cfg_loop_has(r->loops, loop, e->to);
	     loop = loops[loop].parent) {
		if (loops[loop].depth > MACHINE_DEPTH_MAX)
			continue;
		if (list)
			list[count] = (struct machine_control){at, r->kept[loop], false};
		count++;
	}
	return count;
}

static int take_controls(struct reading *r)
{
	const struct cfg_function *f = r->function;
	struct machine_function *m = r->ret;
	uint32_t count = 0;

	if (!m->loop_count)
		return 0;
	for (uint32_t i = 0; i < f->edge_count; i++)
		count = add_controls(r, &f->edges[i], NULL, count);
	m->controls = arena_alloc(r->memory, count * sizeof(*m->controls));
	if (!m->controls)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->edge_count; i++)
		m->control_count = add_controls(r, &f->edges[i], m->controls, m->control_count);
	return 0;
}

int machine_function_read(const struct cfg_function *f, struct arena *memory,
			  struct machine_function *ret)
{
	struct reading reading = {.function = f, .ret = ret, .memory = memory};
	int r = cfg_loops_of_function(f, &reading.loops);

	*ret = (struct machine_function){.entry = f->entry, .complete = f->complete};
	if (r)
		return -ENOMEM;
	reading.kept = calloc((size_t)reading.loops->loop_count + 1, sizeof(*reading.kept));
	r = reading.kept ? take_loops(&reading) : -ENOMEM;
	if (!r)
		r = take_pieces(&reading);
	if (!r)
		r = take_controls(&reading);
	free(reading.kept);
	cfg_loops_free(reading.loops);
	return r;
}

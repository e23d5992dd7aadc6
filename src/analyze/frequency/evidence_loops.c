/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "analyze/frequency/evidence_graph.h"
#include "analyze/frequency/iterations.h"
#include "cfg/function_graph.h"
#include "util/array.h"
#include "util/num.h"

/* Leaf loops of a function whose iterations pairs of samples tell. */
struct function_loops {
	struct evidence *e;
	const struct evidence_function *f;
	struct cfg_graph *graph;
	struct cfg_loops *loops;
	struct cfg_equivalence *classes;
};

static void release(struct function_loops *w)
{
	cfg_equivalence_free(w->classes);
	cfg_loops_free(w->loops);
	cfg_graph_free(w->graph);
}

static int prepare(struct function_loops *w)
{
	const struct cfg_function *c = w->f->function;
	int r = cfg_graph_of_function(c, &w->graph);

	r = r ?: cfg_loops_of_function(c, &w->loops);
	return r ?: cfg_equivalence_of_function(c, w->graph, &w->classes);
}

/* The innermost loop around an address; CFG_LOOP_NONE. */
static uint32_t loop_at(const struct function_loops *w, uint64_t address)
{
	const uint32_t block = cfg_function_block_at(w->f->function, address);

	return block == CFG_OUTSIDE ? CFG_LOOP_NONE : w->loops->innermost[block];
}

static void tally(const struct function_loops *w, uint32_t loop, const struct cfg_induction *in,
		  const struct iterations_pair *pairs, size_t count, struct iterations *t)
{
	for (size_t i = 0; i < count; i++) {
		if (loop_at(w, pairs[i].from) != loop)
			continue;
		iterations_add(t, pairs[i].count,
			       !pairs[i].missed && loop_at(w, pairs[i].to) == loop
				       ? iterations_between(in, &pairs[i])
				       : 0);
	}
}

/* Marks the loop's blocks. */
static int keep(struct function_loops *w, uint32_t loop, double each, double sigma)
{
	struct evidence *e = w->e;
	struct evidence_loop found = {.function = (uint32_t)(w->f - e->functions),
				      .header = w->f->first_block + w->loops->loops[loop].header,
				      .sigma = sigma};
	uint64_t samples = 0;

	if (array_grow(&e->loops, e->loop_count, &e->loop_room, sizeof(*e->loops), 16))
		return -ENOMEM;
	for (uint32_t b = 0; b < w->f->function->block_count; b++) {
		if (w->loops->innermost[b] != loop)
			continue;
		e->blocks[w->f->first_block + b].loop = (uint32_t)e->loop_count + 1;
		samples += e->blocks[w->f->first_block + b].samples;
	}
	found.iterations = each * (double)samples;
	e->loops[e->loop_count++] = found;
	e->totals.loops++;
	e->totals.samples_looped += samples;
	return 0;
}

static int find_in_function(struct function_loops *w, const struct iterations_pair *pairs,
			    size_t count)
{
	int r = prepare(w);

	for (uint32_t i = 0; !r && i < w->loops->loop_count; i++) {
		const uint32_t header = w->f->first_block + w->loops->loops[i].header;
		struct cfg_induction in;
		struct iterations t = {0};
		double sigma, each;

		if (w->e->blocks[header].loop ||
		    !cfg_induction_find(w->f->function, w->loops, w->classes, i, &in))
			continue;
		tally(w, i, &in, pairs, count, &t);
		each = iterations_of_sample(&t, &sigma);
		if (each > 0)
			r = keep(w, i, each, sigma);
	}
	release(w);
	return r == -EINVAL ? 0 : r; /* too large for its graph to be made */
}

static int pair_compare(const void *a, const void *b)
{
	const struct iterations_pair *p = a, *q = b;

	return NUM_ORDER(p->from, q->from);
}

int evidence_find_loops(struct evidence *e)
{
	int r = 0;

	/* The hardware counts all instructions, better than that. */
	for (uint32_t i = 0; i < e->image_count; i++)
		if (e->images[i].executed_count)
			return 0;

	for (uint32_t i = 0; i < e->image_count && !r; i++) {
		const struct evidence_image *m = &e->images[i];

		array_sort(m->pairs, m->pair_count, sizeof(*m->pairs), pair_compare);
		for (size_t k = 0, next; k < m->pair_count && !r; k = next) {
			const struct evidence_function *f = evidence_find(e, i, m->pairs[k].from);
			struct function_loops w = {.e = e, .f = f};
			uint64_t count = m->pairs[k].count;

			/* A function's parts elsewhere have loops of their own, or none. */
			for (next = k + 1;
			     next < m->pair_count && f &&
			     cfg_function_block_at(f->function, m->pairs[next].from) != CFG_OUTSIDE;
			     next++)
				count += m->pairs[next].count;
			if (f && f->counted != EVIDENCE_COUNTED_WHOLE &&
			    count >= ITERATIONS_PAIRS_LEAST)
				r = find_in_function(&w, m->pairs + k, next - k);
		}
	}
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/counted.h"

#include <errno.h>
#include <stdlib.h>
#include "analyze/frequency/rough_counts.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/hash.h"

#define FUNCTIONS_MAX	 (1u << 20)
#define MEMORY_MAX_BYTES ((size_t)4 << 30)

/* Rough counts are samples an instruction; optimisers want whole numbers. */
#define ROUGH_SCALE 64

#define COUNT_MAX 1e18

struct maker {
	struct counted_set *set;
	struct cfg_image *graphs;
	struct counted_function *list;
	uint64_t **samples; /* of the blocks of each function */
	size_t count, room;
	struct map64 *numbers; /* entry of a function -> its index */
	const struct cfg_function *last;
	size_t last_index;
};

static int add_function(struct maker *m, const struct cfg_function *f)
{
	size_t room = m->room; /* of both arrays, which grow together */

	if (array_grow(&m->list, m->count, &room, sizeof(*m->list), 64) ||
	    array_grow(&m->samples, m->count, &m->room, sizeof(*m->samples), 64))
		return -ENOMEM;
	m->list[m->count] = (struct counted_function){.function = f};
	m->samples[m->count] = arena_alloc(m->set->memory, f->block_count * sizeof(**m->samples));
	return m->samples[m->count++] ? 0 : -ENOMEM;
}

/* Samples without code are left out. */
static int add_sample(struct maker *m, const struct counted_sample *row)
{
	uint32_t block = m->last ? cfg_function_block_at(m->last, row->offset) : CFG_OUTSIDE;
	uint64_t index;
	int r = 0;

	if (block == CFG_OUTSIDE) {
		r = cfg_image_function(m->graphs, row->offset, &m->last);
		if (r) {
			m->last = NULL;
			return r == -ENOMEM ? r : 0;
		}
		block = cfg_function_block_at(m->last, row->offset);
		if (map64_get(m->numbers, m->last->entry, &index)) {
			index = m->count;
			r = map64_put(m->numbers, m->last->entry, index);
			if (!r)
				r = add_function(m, m->last);
		}
		m->last_index = (size_t)index;
	}
	if (!r && block != CFG_OUTSIDE)
		m->samples[m->last_index][block] += row->count;
	return r;
}

static int count_function(struct maker *m, size_t index)
{
	struct counted_function *c = &m->list[index];
	const struct cfg_function *f = c->function;
	double *blocks = calloc((size_t)f->block_count + 1, sizeof(*blocks));
	double *edges = calloc((size_t)f->edge_count + 1, sizeof(*edges));
	uint64_t *counts = arena_alloc(m->set->memory,
				       ((size_t)f->block_count + f->edge_count) * sizeof(*counts));
	int r = blocks && edges && counts ? rough_counts(f, m->samples[index], blocks, edges)
					  : -ENOMEM;

	for (uint32_t i = 0; i < f->block_count && !r; i++)
		counts[i] = (uint64_t)(blocks[i] * ROUGH_SCALE + 0.5);
	for (uint32_t i = 0; i < f->edge_count && !r; i++) {
		counts[f->block_count + i] = (uint64_t)(edges[i] * ROUGH_SCALE + 0.5);
		if (f->edges[i].kind == CFG_ENTER)
			c->entries += counts[f->block_count + i];
	}
	c->blocks = counts;
	c->edges = counts ? counts + f->block_count : NULL;
	free(blocks);
	free(edges);
	return r;
}

static int copy_list(struct maker *m)
{
	struct counted_function *copy = arena_alloc(m->set->memory, m->count * sizeof(*copy));

	for (size_t i = 0; i < m->count && copy; i++)
		copy[i] = m->list[i];
	m->set->image.functions = copy;
	m->set->image.function_count = m->count;
	return copy ? 0 : -ENOMEM;
}

static struct counted_set *set_new(void)
{
	struct arena *memory = arena_new(MEMORY_MAX_BYTES);
	struct counted_set *s = memory ? arena_alloc(memory, sizeof(*s)) : NULL;

	if (!s) {
		arena_free(memory);
		return NULL;
	}
	s->memory = memory;
	return s;
}

int counted_new_rough(struct cfg_image *graphs, const struct counted_sample *rows, size_t count,
		      struct counted_set **ret)
{
	struct maker m = {.graphs = graphs, .set = set_new()};

	m.numbers = map64_new(FUNCTIONS_MAX);
	int r = m.set && m.numbers ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !r; i++)
		r = add_sample(&m, &rows[i]);
	for (size_t i = 0; i < m.count && !r; i++)
		r = count_function(&m, i);
	if (!r)
		r = copy_list(&m);
	free(m.list);
	free(m.samples);
	map64_free(m.numbers);
	if (r)
		counted_free(m.set);
	else
		*ret = m.set;
	return r ? -ENOMEM : 0;
}

/* Estimates may be anything that a double can be. */
static uint64_t round_count(double value)
{
	if (!(value > 0))
		return 0;
	return value < COUNT_MAX ? (uint64_t)(value + 0.5) : (uint64_t)COUNT_MAX;
}

static int copy_function(struct counted_set *s, const struct frequency_function *from,
			 struct counted_function *to)
{
	const struct cfg_function *f = from->function;
	uint64_t *counts =
		arena_alloc(s->memory, ((size_t)f->block_count + f->edge_count) * sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->block_count; i++)
		counts[i] = round_count(from->block_count[i].value);
	for (uint32_t i = 0; i < f->edge_count; i++)
		counts[f->block_count + i] = round_count(from->edge_count[i].value);
	to->function = f;
	to->counted = from->counted;
	to->entries = round_count(from->entries.value);
	to->blocks = counts;
	to->edges = counts + f->block_count;
	return 0;
}

int counted_new(const struct frequency_function *functions, size_t count, struct counted_set **ret)
{
	struct counted_set *s = set_new();
	struct counted_function *list;
	int r = 0;

	if (!s)
		return -ENOMEM;
	list = arena_alloc(s->memory, count * sizeof(*list));
	if (!list)
		r = -ENOMEM;
	for (size_t i = 0; i < count && !r; i++)
		r = copy_function(s, &functions[i], &list[i]);
	s->image.functions = list;
	s->image.function_count = count;
	if (r)
		counted_free(s);
	else
		*ret = s;
	return r;
}

void counted_free(struct counted_set *s)
{
	if (s)
		arena_free(s->memory);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/cfg_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/frequency/rough_counts.h"
#include "cfg/function_graph.h"
#include "cfg/open.h"
#include "machine/listing_decoder.h"
#include "util/arena.h"

#define MEMORY_MAX_BYTES ((size_t)1 << 30)

void cfg_view_free(struct cfg_view *v)
{
	if (!v)
		return;
	cfg_loops_free(v->loops);
	cfg_image_free(v->image);
	arena_free(v->memory);
}

static int allocate(struct cfg_view *v)
{
	const struct cfg_function *f = v->function;

	v->samples = arena_alloc(v->memory, f->instruction_count * sizeof(*v->samples));
	v->texts = arena_alloc(v->memory, f->instruction_count * sizeof(*v->texts));
	v->block_samples = arena_alloc(v->memory, f->block_count * sizeof(*v->block_samples));
	v->blocks = arena_alloc(v->memory, f->block_count * sizeof(*v->blocks));
	v->edges = arena_alloc(v->memory, f->edge_count * sizeof(*v->edges));
	return v->samples && v->texts && v->block_samples && v->blocks && v->edges ? 0 : -ENOMEM;
}

static void count_samples(struct cfg_view *v, const struct query_part *p)
{
	const struct cfg_function *f = v->function;

	for (size_t i = 0; i < p->row_count; i++) {
		const struct query_row *row = &p->rows[i];
		uint32_t instruction, block;

		if (row->event || row->offset < f->low || row->offset >= f->high)
			continue;
		instruction = cfg_function_instruction_at(f, row->offset);
		block = cfg_function_block_at(f, row->offset);
		if (instruction == CFG_OUTSIDE || block == CFG_OUTSIDE)
			continue;
		v->samples[instruction] += row->count;
		v->block_samples[block] += row->count;
		v->total += row->count;
	}
}

/* The texts of the instructions that one range of the function's code has. */
static int read_texts(struct cfg_view *v, const struct cfg_view_request *q,
		      const struct isa_decoder *decoder, const struct cfg_range *range)
{
	const struct cfg_function *f = v->function;
	char text[ISA_TEXT_MAX];
	uint8_t *code = NULL;
	struct diag diag;
	size_t size;

	if (image_find_code(q->finder, &q->hit->image->id, q->hit->image->path, range->start,
			    range->end - range->start, &code, &size, &diag))
		return 0;
	for (uint32_t i = 0; i < f->instruction_count; i++) {
		const struct isa_instruction *in = &f->instructions[i];

		if (in->address < range->start || in->address - range->start >= size ||
		    size - (in->address - range->start) < in->size)
			continue;
		isa_format(decoder, code + (in->address - range->start), in, text);
		v->texts[i] = arena_strndup(v->memory, text, strlen(text));
		if (!v->texts[i]) {
			free(code);
			return -ENOMEM;
		}
	}
	free(code);
	return 0;
}

static int read_all_texts(struct cfg_view *v, const struct cfg_view_request *q)
{
	struct isa_decoder *decoder = NULL;
	uint16_t machine;
	unsigned bits;
	int r = 0;

	image_find_machine(q->finder, &q->hit->image->id, q->hit->image->path, &machine, &bits);
	if (machine_listing_decoder_new(machine, bits, q->syntax, &decoder, NULL))
		return 0;
	for (uint32_t i = 0; i < v->function->range_count && !r; i++)
		r = read_texts(v, q, decoder, &v->function->ranges[i]);
	isa_decoder_free(decoder);
	return r;
}

/* The function in what is estimated of its image; NULL when nothing is. */
static const struct frequency_function *find_estimate(const struct cfg_view_request *q)
{
	const struct frequency_function *list;
	size_t count;

	if (!q->insights)
		return NULL;
	list = insights_frequencies(q->insights, q->hit->image, &count);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_function *f = list[i].function;

		for (uint32_t k = 0; k < f->range_count; k++) {
			if (q->hit->start >= f->ranges[k].start && q->hit->start < f->ranges[k].end)
				return &list[i];
		}
	}
	return NULL;
}

static int find_function(struct cfg_view *v, const struct cfg_view_request *q, struct diag *diag)
{
	const struct function_hit *hit = q->hit;
	int r = cfg_image_open(q->finder, &hit->image->id, hit->image->path, &v->image, diag);

	if (r)
		return r;
	r = cfg_image_function(v->image, hit->start, &v->function);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "there is no code at 0x%llx of %s",
				 (unsigned long long)hit->start, hit->image->path);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

static int count_executions(struct cfg_view *v, const struct insights *all,
			    const struct frequency_function *estimate)
{
	const struct cfg_function *f = v->function;

	if (!estimate)
		return rough_counts(f, v->block_samples, v->blocks, v->edges);
	v->estimate = estimate;
	v->without_edges = !insights_have_edges(all);
	for (uint32_t i = 0; i < f->block_count; i++)
		v->blocks[i] = estimate->block_count[i].value;
	for (uint32_t i = 0; i < f->edge_count; i++)
		v->edges[i] = estimate->edge_count[i].value;
	return 0;
}

static int fill(struct cfg_view *v, const struct cfg_view_request *q, struct diag *diag)
{
	const struct frequency_function *estimate = find_estimate(q);
	int r = 0;

	if (estimate)
		v->function = estimate->function;
	else
		r = find_function(v, q, diag);
	if (r)
		return r;
	v->name = q->hit->demangled;
	v->part = query_find_part(q->query, q->hit->image);
	r = allocate(v);
	if (!r && v->part)
		count_samples(v, v->part);
	if (!r)
		r = cfg_loops_of_function(v->function, &v->loops);
	if (!r)
		r = count_executions(v, q->insights, estimate);
	if (!r)
		r = read_all_texts(v, q);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

int cfg_view_new(const struct cfg_view_request *q, struct cfg_view **ret, struct diag *diag)
{
	struct arena *memory = arena_new(MEMORY_MAX_BYTES);
	struct cfg_view *v = memory ? arena_alloc(memory, sizeof(*v)) : NULL;

	if (!v) {
		arena_free(memory);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	v->memory = memory;
	int r = fill(v, q, diag);
	if (r)
		cfg_view_free(v);
	else
		*ret = v;
	return r;
}

static void mark_edge(struct cfg_view *v, uint32_t from, uint32_t to)
{
	const struct cfg_function *f = v->function;

	for (uint32_t i = 0; i < f->edge_count; i++)
		if (f->edges[i].from == from && f->edges[i].to == to)
			v->marked_edges[i] = true;
}

int cfg_view_mark(struct cfg_view *v, const struct paths_one *path, struct diag *diag)
{
	const struct cfg_function *f = v->function;
	uint32_t before = CFG_OUTSIDE;

	if (f->entry != path->function)
		return diag_fail(diag, ENOENT, "the path is of the function at 0x%llx",
				 (unsigned long long)path->function);
	v->marked_blocks = arena_alloc(v->memory, f->block_count * sizeof(*v->marked_blocks));
	v->marked_edges = arena_alloc(v->memory, f->edge_count * sizeof(*v->marked_edges));
	if (!v->marked_blocks || !v->marked_edges)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < path->block_count; i++) {
		const uint32_t block = cfg_function_block_at(f, path->blocks[i]);

		if (block == CFG_OUTSIDE)
			return diag_fail(diag, ENOENT, "the function has no block at 0x%llx",
					 (unsigned long long)path->blocks[i]);
		v->marked_blocks[block] = true;
		/* Where it begins in the middle nothing led there that is part of it. */
		if (i || block == f->entry_block)
			mark_edge(v, before, block);
		before = block;
	}
	mark_edge(v, before, path->to ? cfg_function_block_at(f, path->to) : CFG_OUTSIDE);
	return 0;
}

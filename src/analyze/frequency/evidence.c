/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "analyze/frequency/evidence_graph.h"
#include "util/array.h"

#define EVIDENCE_IMAGES_MAX    (1u << 20)
#define EVIDENCE_FUNCTIONS_MAX (1u << 22)
#define EVIDENCE_ISSUE_WIDTH   4.0 /* instructions a cycle, when nobody tells the cost */

int evidence_new(struct evidence **ret, struct diag *diag)
{
	struct evidence *e = calloc(1, sizeof(*e));

	if (!e)
		return diag_fail(diag, ENOMEM, "no memory for the evidence of a profile");
	*ret = e;
	return 0;
}

void evidence_free(struct evidence *e)
{
	if (!e)
		return;
	free(e->images);
	free(e->functions);
	free(e->blocks);
	free(e->ways);
	free(e->calls);
	free(e->loops);
	map64_free(e->numbers);
	free(e);
}

int evidence_add_image(struct evidence *e, const struct evidence_image *image, struct diag *diag)
{
	if (e->image_count == EVIDENCE_IMAGES_MAX ||
	    array_grow(&e->images, e->image_count, &e->image_room, sizeof(*e->images), 16))
		return diag_fail(diag, ENOMEM, "no memory for evidence");
	e->images[e->image_count++] = *image;
	return 0;
}

void evidence_set_cost(struct evidence *e, evidence_cost cost, void *arg)
{
	e->cost = cost;
	e->cost_argument = arg;
}

void evidence_set_counted(struct evidence *e, uint32_t epochs)
{
	e->counted_epochs = epochs;
}

void evidence_totals(const struct evidence *e, struct evidence_totals *ret)
{
	*ret = e->totals;
}

static int function_compare(const void *a, const void *b)
{
	const struct evidence_function *f = a, *g = b;

	if (f->image != g->image)
		return f->image < g->image ? -1 : 1;
	return f->function->entry < g->function->entry ? -1
						       : f->function->entry > g->function->entry;
}

const struct evidence_function *evidence_find(const struct evidence *e, uint32_t image,
					      uint64_t address)
{
	const struct cfg_function *f;

	if (image >= e->image_count || !e->images[image].cfg ||
	    cfg_image_function(e->images[image].cfg, address, &f))
		return NULL;
	return evidence_find_entry(e, image, f->entry);
}

const struct evidence_function *evidence_find_entry(const struct evidence *e, uint32_t image,
						    uint64_t entry)
{
	const struct cfg_function wanted = {.entry = entry};
	const struct evidence_function key = {.image = image, .function = &wanted};

	if (!e->function_count)
		return NULL;
	return bsearch(&key, e->functions, e->function_count, sizeof(key), function_compare);
}

/*
 * Takes note of the function that has an address. Only lack of memory is an error. roughly: code
 * that the one before jumps into counts as its own, which is quick.
 */
static int discover(struct evidence *e, uint32_t image, uint64_t address, bool roughly)
{
	const struct cfg_function *f;
	const struct evidence_function *last =
		e->function_count ? &e->functions[e->function_count - 1] : NULL;
	uint64_t number;

	if (image >= e->image_count || !e->images[image].cfg)
		return 0;
	if (roughly && last && last->image == image &&
	    cfg_function_block_at(last->function, address) != CFG_OUTSIDE)
		return 0;
	int r = cfg_image_function(e->images[image].cfg, address, &f);
	if (r)
		return r == -ENOMEM ? r : 0;
	if (!map64_get(e->numbers, (uintptr_t)f, &number))
		return 0;
	if (array_grow(&e->functions, e->function_count, &e->function_room, sizeof(*e->functions),
		       256))
		return -ENOMEM;
	r = map64_put(e->numbers, (uintptr_t)f, e->function_count);
	if (r)
		return r == -ENOSPC ? -E2BIG : r;
	e->functions[e->function_count++] =
		(struct evidence_function){.function = f, .image = image};
	return 0;
}

static int discover_all(struct evidence *e)
{
	int r = 0;

	for (uint32_t i = 0; i < e->image_count && !r; i++) {
		const struct evidence_image *m = &e->images[i];

		for (size_t k = 0; k < m->sample_count && !r; k++)
			r = discover(e, i, m->samples[k].offset, false);
		for (size_t k = 0; k < m->executed_count && !r; k++)
			r = discover(e, i, m->executed[k].offset, true);
		for (size_t k = 0; k < m->edge_count && !r; k++) {
			if (m->edges[k].from != EVIDENCE_START)
				r = discover(e, i, m->edges[k].from, true);
			if (!r && m->edges[k].to != EVIDENCE_END)
				r = discover(e, m->edges[k].to_image, m->edges[k].to, true);
		}
	}
	return r;
}

/* Numbers everything, and makes room for it. */
static int lay_out(struct evidence *e)
{
	size_t blocks = 0, ways = 0;

	array_sort(e->functions, e->function_count, sizeof(*e->functions), function_compare);
	for (size_t i = 0; i < e->function_count; i++) {
		struct evidence_function *f = &e->functions[i];

		if (map64_put(e->numbers, (uintptr_t)f->function, i))
			return -ENOMEM;
		f->first_block = (uint32_t)blocks;
		f->first_edge = (uint32_t)ways;
		blocks += f->function->block_count;
		ways += f->function->edge_count;
		if (blocks > EVIDENCE_MAX_BLOCKS || ways > 4 * (size_t)EVIDENCE_MAX_BLOCKS)
			return -E2BIG;
	}
	e->block_count = blocks;
	e->way_count = ways;
	e->blocks = calloc(blocks + 1, sizeof(*e->blocks));
	e->ways = calloc(ways + 1, sizeof(*e->ways));
	return e->blocks && e->ways ? 0 : -ENOMEM;
}

static void price(struct evidence *e)
{
	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *f = &e->functions[i];

		for (uint32_t b = 0; b < f->function->block_count; b++) {
			double cost = e->cost ? e->cost(e->cost_argument, f->function, b)
					      : f->function->blocks[b].instruction_count /
							EVIDENCE_ISSUE_WIDTH;

			e->blocks[f->first_block + b].cost = cost > 0.05 ? cost : 0.05;
		}
	}
}

int evidence_build(struct evidence *e, struct diag *diag)
{
	e->numbers = map64_new(EVIDENCE_FUNCTIONS_MAX);
	int r = e->numbers ? discover_all(e) : -ENOMEM;
	if (!r)
		r = lay_out(e);
	if (!r) {
		price(e);
		r = evidence_place_all(e);
	}
	map64_free(e->numbers);
	e->numbers = NULL;
	if (r == -E2BIG)
		return diag_fail(diag, E2BIG,
				 "the selection touches more than %u basic blocks; select less",
				 EVIDENCE_MAX_BLOCKS);
	if (r)
		return diag_fail(diag, -r, "no memory for the evidence of a profile");
	e->totals.functions = e->function_count;
	e->totals.blocks = e->block_count;
	return 0;
}

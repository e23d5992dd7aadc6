/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "analyze/evidence_graph.h"
#include "analyze/evidence_place.h"
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
	map64_free(e->numbers);
	free(e);
}

int evidence_add_image(struct evidence *e, const struct evidence_image *image, struct diag *diag)
{
	if (e->image_count == EVIDENCE_IMAGES_MAX ||
	    array_grow(&e->images, e->image_count, &e->image_room, sizeof(*e->images), 16))
		return diag_fail(diag, ENOMEM, "no memory for the evidence of %zu images",
				 e->image_count + 1);
	e->images[e->image_count++] = *image;
	return 0;
}

void evidence_set_cost(struct evidence *e, evidence_cost cost, void *arg)
{
	e->cost = cost;
	e->cost_argument = arg;
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
	int error;

	if (image >= e->image_count || !e->images[image].cfg)
		return 0;
	if (roughly && last && last->image == image &&
	    cfg_function_block_at(last->function, address) != CFG_OUTSIDE)
		return 0;
	error = cfg_image_function(e->images[image].cfg, address, &f);
	if (error)
		return error == -ENOMEM ? error : 0;
	if (!map64_get(e->numbers, (uintptr_t)f, &number))
		return 0;
	if (array_grow(&e->functions, e->function_count, &e->function_room, sizeof(*e->functions),
		       256))
		return -ENOMEM;
	error = map64_put(e->numbers, (uintptr_t)f, e->function_count);
	if (error)
		return error == -ENOSPC ? -E2BIG : error;
	e->functions[e->function_count++] =
		(struct evidence_function){.function = f, .image = image};
	return 0;
}

static int discover_all(struct evidence *e)
{
	int error = 0;

	for (uint32_t i = 0; i < e->image_count && !error; i++) {
		const struct evidence_image *m = &e->images[i];

		for (size_t k = 0; k < m->sample_count && !error; k++)
			error = discover(e, i, m->samples[k].offset, false);
		for (size_t k = 0; k < m->executed_count && !error; k++)
			error = discover(e, i, m->executed[k].offset, true);
		for (size_t k = 0; k < m->edge_count && !error; k++) {
			if (m->edges[k].from != EVIDENCE_START)
				error = discover(e, i, m->edges[k].from, true);
			if (!error && m->edges[k].to != EVIDENCE_END)
				error = discover(e, m->edges[k].to_image, m->edges[k].to, true);
		}
	}
	return error;
}

/* Numbers everything, and makes room for it. */
static int lay_out(struct evidence *e)
{
	size_t blocks = 0, ways = 0;

	if (e->function_count)
		qsort(e->functions, e->function_count, sizeof(*e->functions), function_compare);
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
	int error;

	e->numbers = map64_new(EVIDENCE_FUNCTIONS_MAX);
	error = e->numbers ? discover_all(e) : -ENOMEM;
	if (!error)
		error = lay_out(e);
	if (!error) {
		price(e);
		error = evidence_place_all(e);
	}
	map64_free(e->numbers);
	e->numbers = NULL;
	if (error == -E2BIG)
		return diag_fail(diag, E2BIG,
				 "the selection touches more than %u basic blocks; select less",
				 EVIDENCE_MAX_BLOCKS);
	if (error)
		return diag_fail(diag, -error, "no memory for the evidence of a profile");
	e->totals.functions = e->function_count;
	e->totals.blocks = e->block_count;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency/frequency_web.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define WEB_WAYS  16 /* of each jump, and */
#define WEB_JUMPS 4  /* so many of them: fewer ways are no trouble */

/* The same for jumps with the same targets, in any order; 0 for a block that is no such jump. */
static uint64_t jump_targets(const struct cfg_function *f, const struct cfg_block *b)
{
	uint64_t sum = 0;

	if (b->succ_count < WEB_WAYS)
		return 0;
	for (uint32_t i = 0; i < b->succ_count; i++) {
		const struct cfg_edge *e = &f->edges[b->first_succ + i];

		if (e->kind != CFG_INDIRECT || e->to == CFG_OUTSIDE)
			return 0;
		sum += hash_u64(e->to + 1);
	}
	return sum;
}

/* The value that comes most often in a sorted list, if it comes often enough; else 0. */
static uint64_t most_frequent(const uint64_t *sorted, size_t count)
{
	size_t most = WEB_JUMPS - 1;
	uint64_t found = 0;

	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && sorted[next] == sorted[i];)
			next++;
		if (next - i > most) {
			most = next - i;
			found = sorted[i];
		}
	}
	return found;
}

int flow_web_find(const struct cfg_function *f, bool *ret_jumps)
{
	uint64_t *all = malloc(2 * (f->block_count + (size_t)1) * sizeof(*all)), web;
	uint64_t *sorted = all + f->block_count + 1;
	size_t count = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->block_count; b++) {
		all[b] = jump_targets(f, &f->blocks[b]);
		if (all[b])
			sorted[count++] = all[b];
	}
	array_sort(sorted, count, sizeof(*sorted), num_compare_u64);
	web = most_frequent(sorted, count);
	for (uint32_t b = 0; b < f->block_count; b++)
		ret_jumps[b] = web && all[b] == web;
	free(all);
	return web != 0;
}

void flow_web_number(struct logsum *m, const struct evidence *e, size_t i, const bool *jumps,
		     struct flow_unknowns *u)
{
	const struct evidence_function *f = &e->functions[i];
	const struct cfg_function *c = f->function;

	for (uint32_t b = 0; b < c->block_count; b++) {
		const struct cfg_block *block = &c->blocks[b];

		for (uint32_t k = 0; jumps[b] && k < block->succ_count; k++) {
			const uint32_t edge = block->first_succ + k;
			uint32_t *entry = &u->entries[f->first_block + c->edges[edge].to];

			u->ways[f->first_edge + edge] = FLOW_HUB;
			if (*entry == FLOW_NONE)
				*entry = logsum_variable(m, 0);
		}
	}
	u->hubs[i] = logsum_variable(m, 0);
}

void flow_web_equations(struct logsum *m, const struct evidence *e, size_t i,
			const struct flow_unknowns *u, double sigma, struct logsum_term *terms)
{
	const struct evidence_function *f = &e->functions[i];
	const struct cfg_function *c = f->function;
	uint32_t count = 0;

	for (uint32_t b = 0; b < c->block_count; b++)
		if (c->blocks[b].succ_count &&
		    u->ways[f->first_edge + c->blocks[b].first_succ] == FLOW_HUB)
			terms[count++] = (struct logsum_term){u->blocks[f->first_block + b], 0};
	logsum_equation(m, u->hubs[i], terms, count, 0, sigma);
	count = 0;
	for (uint32_t b = 0; b < c->block_count; b++)
		if (u->entries[f->first_block + b] != FLOW_NONE)
			terms[count++] = (struct logsum_term){u->entries[f->first_block + b], 0};
	logsum_equation(m, u->hubs[i], terms, count, 0, sigma);
}

void flow_web_results(const struct logsum *m, const struct evidence *e, size_t i,
		      const struct flow_unknowns *u, const double *variances,
		      struct frequency_guess *ways)
{
	const struct evidence_function *f = &e->functions[i];

	for (uint32_t k = 0; k < f->function->edge_count; k++) {
		const struct cfg_edge *way = &f->function->edges[k];
		uint32_t from, entry;

		if (u->ways[f->first_edge + k] != FLOW_HUB)
			continue;
		from = u->blocks[f->first_block + way->from];
		entry = u->entries[f->first_block + way->to];
		ways[f->first_edge + k] =
			(struct frequency_guess){logsum_value(m, from) + logsum_value(m, entry) -
							 logsum_value(m, u->hubs[i]),
						 sqrt(variances[from] + variances[entry])};
	}
}

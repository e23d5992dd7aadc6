/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/frequency/rough_counts.h"

#include <errno.h>
#include <stdlib.h>
#include "cfg/flow.h"
#include "cfg/function_graph.h"

/* Counts are whole numbers to the flow; samples an instruction mostly are not. */
#define SCALE	  64
#define COUNT_MAX ((uint64_t)1 << 36)

/* The prices of a changed estimate, and of a count where there was no sample. */
enum { PRICE_CHANGE = 10, PRICE_UNSAMPLED = 2 };

static void estimate_nodes(const struct cfg_function *f, const uint64_t *samples,
			   struct cfg_flow_estimate *nodes)
{
	for (uint32_t i = 0; i < f->block_count; i++) {
		uint64_t count = samples[i] < COUNT_MAX / SCALE ? samples[i] * SCALE : COUNT_MAX;
		uint32_t instructions = f->blocks[i].instruction_count;

		nodes[i].count = count / (instructions ? instructions : 1);
		nodes[i].increase = nodes[i].count ? PRICE_CHANGE : PRICE_UNSAMPLED;
		nodes[i].decrease = PRICE_CHANGE;
	}
}

int rough_counts(const struct cfg_function *f, const uint64_t *samples, double *blocks,
		 double *edges)
{
	struct cfg_flow_problem problem = {.join_islands = true};
	struct cfg_graph *g = NULL;
	struct cfg_flow *flow = NULL;
	struct cfg_flow_estimate *nodes = calloc((size_t)f->block_count + 2, sizeof(*nodes));

	int r = nodes ? cfg_graph_of_function(f, &g) : -ENOMEM;
	if (!r)
		estimate_nodes(f, samples, nodes);
	problem.graph = g;
	problem.nodes = nodes;
	if (!r)
		r = cfg_flow_new(&problem, &flow);
	for (uint32_t i = 0; i < f->block_count && !r; i++)
		blocks[i] = (double)flow->nodes[i] / SCALE;
	for (uint32_t i = 0; i < f->edge_count && !r; i++)
		edges[i] = (double)flow->edges[i] / SCALE;
	cfg_flow_free(flow);
	cfg_graph_free(g);
	free(nodes);
	return r ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/function_graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Where landing pads are left out, their edges lead from the entry to the exit, so that edges keep
 * their numbers. */
static int make_graph(const struct cfg_function *f, bool landings, struct cfg_graph **ret)
{
	uint32_t *from, *to, entry = f->block_count, exit = f->block_count + 1;
	int r = -ENOMEM;

	if (f->block_count > CFG_GRAPH_MAX)
		return -EINVAL;
	from = reallocarray(NULL, (size_t)f->edge_count + 1, sizeof(*from));
	to = reallocarray(NULL, (size_t)f->edge_count + 1, sizeof(*to));
	for (uint32_t e = 0; e < f->edge_count && from && to; e++) {
		const struct cfg_edge *edge = &f->edges[e];
		bool cut = edge->kind == CFG_LANDING && !landings;

		from[e] = edge->from == CFG_OUTSIDE ? entry : edge->from;
		to[e] = edge->to == CFG_OUTSIDE || cut ? exit : edge->to;
	}
	if (from && to)
		r = cfg_graph_new(exit + 1, entry, exit, from, to, f->edge_count, ret);
	free(from);
	free(to);
	return r;
}

int cfg_graph_of_function(const struct cfg_function *f, struct cfg_graph **ret)
{
	return make_graph(f, true, ret);
}

int cfg_loops_of_function(const struct cfg_function *f, struct cfg_loops **ret)
{
	struct cfg_graph *g = NULL;
	int r = make_graph(f, false, &g);

	if (!r)
		r = cfg_loops_new(g, ret);
	cfg_graph_free(g);
	return r;
}

int cfg_equivalence_of_function(const struct cfg_function *f, const struct cfg_graph *g,
				struct cfg_equivalence **ret)
{
	return f->complete ? cfg_equivalence_new(g, ret) : cfg_equivalence_new_single(g, ret);
}

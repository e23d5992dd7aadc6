/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/graph.h"

#include <errno.h>
#include <string.h>
#include "cfg/numbers.h"

/* Lists edges by one of their ends. It is a counting sort, so that each list keeps the edges'
 * order. */
static void sort_edges(const uint32_t *end, uint32_t edge_count, uint32_t node_count,
		       uint32_t *first, uint32_t *list)
{
	for (uint32_t e = 0; e < edge_count; e++)
		first[end[e] + 1]++;
	for (uint32_t n = 0; n < node_count; n++)
		first[n + 1] += first[n];
	/* Each position is moved to the end of its list while that is filled, then back. */
	for (uint32_t e = 0; e < edge_count; e++)
		list[first[end[e]]++] = e;
	memmove(first + 1, first, node_count * sizeof(*first));
	first[0] = 0;
}

int cfg_graph_new(uint32_t node_count, uint32_t entry, uint32_t exit, const uint32_t *from,
		  const uint32_t *to, uint32_t edge_count, struct cfg_graph **ret)
{
	uint32_t *ends[2], *first[2], *list[2];
	struct arena *memory;
	struct cfg_graph *g;

	if (entry >= node_count || exit >= node_count || entry == exit ||
	    (uint64_t)node_count + edge_count > CFG_GRAPH_MAX)
		return -EINVAL;
	for (uint32_t e = 0; e < edge_count; e++) {
		if (from[e] >= node_count || to[e] >= node_count)
			return -EINVAL;
	}
	memory = arena_new(SIZE_MAX);
	g = memory ? arena_alloc(memory, sizeof(*g)) : NULL;
	for (int i = 0; i < 2 && g; i++) {
		ends[i] = numbers_new(memory, edge_count, 0);
		first[i] = numbers_new(memory, (size_t)node_count + 1, 0);
		list[i] = numbers_new(memory, edge_count, 0);
		if (!ends[i] || !first[i] || !list[i])
			g = NULL;
	}
	if (!g) {
		arena_free(memory);
		return -ENOMEM;
	}
	if (edge_count) {
		memcpy(ends[0], from, edge_count * sizeof(*from));
		memcpy(ends[1], to, edge_count * sizeof(*to));
	}
	for (int i = 0; i < 2; i++)
		sort_edges(ends[i], edge_count, node_count, first[i], list[i]);
	*g = (struct cfg_graph){node_count, edge_count, entry,	  exit,	   ends[0], ends[1],
				first[0],   list[0],	first[1], list[1], memory};
	*ret = g;
	return 0;
}

void cfg_graph_free(struct cfg_graph *g)
{
	if (g)
		arena_free(g->memory);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_DOMINATORS_H
#define CULPRIT_CFG_DOMINATORS_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * The dominator tree: a dominates b when every path from the root to b passes a. Lengauer and
 * Tarjan, A fast algorithm for finding dominators in a flowgraph (TOPLAS 1979), with path
 * compression: O(edges * log nodes).
 */

enum cfg_direction {
	CFG_FORWARD,  /* dominators: from the entry */
	CFG_BACKWARD, /* postdominators: from the exit, against the edges */
};

struct cfg_dominators {
	uint32_t node_count, root;
	const uint32_t
		*parent; /* immediate dominator; CFG_NODE_NONE: the root and the unreachable */
	/* Of a node in the tree: its number in preorder, and of the last node below it. */
	const uint32_t *first, *last; /* first is CFG_NODE_NONE for the unreachable */
	struct arena *memory;
};

/*
 * Postdominators of a graph with infinite loops: what cannot reach the exit is unreachable here.
 * 0 or -ENOMEM.
 */
int cfg_dominators_new(const struct cfg_graph *g, enum cfg_direction direction,
		       struct cfg_dominators **ret);
void cfg_dominators_free(struct cfg_dominators *d);

/* A node dominates itself. What is unreachable neither dominates nor is dominated. */
static inline bool cfg_dominates(const struct cfg_dominators *d, uint32_t a, uint32_t b)
{
	return d->first[a] != CFG_NODE_NONE && d->first[b] != CFG_NODE_NONE &&
	       d->first[a] <= d->first[b] && d->first[b] <= d->last[a];
}

#endif

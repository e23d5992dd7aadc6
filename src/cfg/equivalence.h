/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_EQUIVALENCE_H
#define CULPRIT_CFG_EQUIVALENCE_H

#include "cfg/graph.h"

/*
 * Frequency equivalence: nodes and edges of one class run equally often whatever the program does.
 * They are the classes of cycle equivalence (Johnson, Pearson and Pingali, The program structure
 * tree, PLDI 1994, by lists of brackets, in linear time) of the graph in which each node is an edge
 * of its own, closed by cfg_closure_new so that infinite loops and calls that never return keep the
 * rule true. It holds up to one execution for each time that the program was not at rest: a profile
 * begins and ends anywhere.
 */

struct cfg_equivalence {
	uint32_t class_count;
	const uint32_t *node_class, *edge_class; /* from 0; each class has at least one of them */
	struct arena *memory;
};

int cfg_equivalence_new(const struct cfg_graph *g, struct cfg_equivalence **ret); /* or -ENOMEM */
/* Each node and edge a class of its own: of a graph that misses edges, no more can be said. */
int cfg_equivalence_new_single(const struct cfg_graph *g, struct cfg_equivalence **ret);
void cfg_equivalence_free(struct cfg_equivalence *e);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_EQUIVALENCE_H
#define CULPRIT_CFG_EQUIVALENCE_H

#include "cfg/graph.h"

/*
 * Frequency equivalence: the nodes and edges of a class are executed equally often, whatever the
 * program does. The classes are those of cycle equivalence (Johnson, Pearson and Pingali, The
 * program structure tree, PLDI 1994: by lists of brackets, in linear time) of the graph in which
 * each node becomes an edge, closed by cfg_closure_new so that infinite loops and calls that never
 * return keep the rule true. It holds up to one execution for each activation that was under way
 * when the profile began or ended.
 */

struct cfg_equivalence {
	uint32_t class_count;
	const uint32_t *node_class, *edge_class; /* class numbers from 0; no class is empty */
	struct arena *memory;
};

int cfg_equivalence_new(const struct cfg_graph *g, struct cfg_equivalence **ret); /* or -ENOMEM */
/* Makes each node and edge a class of its own, which is all that is certain if edges are missing. 0
 * or -ENOMEM. */
int cfg_equivalence_new_single(const struct cfg_graph *g, struct cfg_equivalence **ret);
void cfg_equivalence_free(struct cfg_equivalence *e);

#endif

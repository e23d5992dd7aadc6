/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FLOW_ISLANDS_H
#define CULPRIT_CFG_FLOW_ISLANDS_H

#include "cfg/graph.h"

/*
 * Connects the parts of a circulation that no flow reaches from the exit (whose edge to the entry
 * stands for the next call): each gets one execution more, on the path there and back with the
 * fewest edges without flow. flows holds the flow of the nodes, then of the edges, then of the
 * closure's edges. 0 or -ENOMEM.
 */
int flow_join_islands(const struct cfg_graph *g, const struct cfg_closure *c, uint64_t *flows);

#endif

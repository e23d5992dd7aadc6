/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FLOW_ISLANDS_H
#define CULPRIT_CFG_FLOW_ISLANDS_H

#include "cfg/graph.h"

/*
 * Connects the parts of a circulation that flow does not lead to from the exit (which is where the
 * next call comes from): each gets one execution more, on the way there and back that has the
 * fewest edges without flow. flows: of the nodes, the edges, then the closure's edges. 0 or
 * -ENOMEM.
 */
int flow_join_islands(const struct cfg_graph *g, const struct cfg_closure *c, uint64_t *flows);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FLOW_H
#define CULPRIT_CFG_FLOW_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * Flow repair: of all counts in which as much enters each node as leaves it, those nearest to the
 * estimates. "Nearest" means the least sum of increase * (count above the estimate) + decrease *
 * (count below it) over nodes and edges, as in He, Mestre, Pupyrev, Wang and Yu, Profile inference
 * revisited (POPL 2022; profi in LLVM); here edges may have estimates too. It is a minimum-cost
 * circulation on the graph closed by cfg_closure_new, whose added edges cost nothing, solved by the
 * network simplex method (circulation.h).
 */

/* What is known of one node or edge. */
struct cfg_flow_estimate {
	uint64_t count;
	uint32_t increase, decrease; /* cost per execution above and below count */
};

/* Where nothing is known, use count 0 and an increase that is small against those of known
 * counts. */

#define CFG_FLOW_COST_MAX (1u << 20)
#define CFG_FLOW_SUM_MAX  ((uint64_t)1 << 60) /* of all counts */

struct cfg_flow_problem {
	const struct cfg_graph *graph;
	const struct cfg_flow_estimate *nodes; /* one per node */
	const struct cfg_flow_estimate *edges; /* one per edge; NULL: no estimates, no costs */
	/*
	 * The maximum of elementary steps; 0: CFG_FLOW_STEPS. If they do not suffice, the result is
	 * a feasible flow that need not be the nearest, and optimal is false.
	 */
	uint64_t max_steps;
	/*
	 * Gives each island of the repaired flow (a loop that is executed though nothing leads to
	 * it) one execution more, on the path that changes least.
	 */
	bool join_islands;
};

#define CFG_FLOW_STEPS ((uint64_t)1 << 30) /* a few seconds */

struct cfg_flow {
	const uint64_t *nodes, *edges;
	double cost; /* the sum that was minimised */
	bool optimal;
	uint64_t steps;
	struct arena *memory;
};

/* -EINVAL: a cost above CFG_FLOW_COST_MAX; -ERANGE: counts above CFG_FLOW_SUM_MAX; -ENOMEM. */
int cfg_flow_new(const struct cfg_flow_problem *p, struct cfg_flow **ret);
void cfg_flow_free(struct cfg_flow *f);

#endif

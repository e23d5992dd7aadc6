/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FLOW_H
#define CULPRIT_CFG_FLOW_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * Flow repair: the counts nearest to what was estimated among those that are possible, where what
 * enters each node leaves it. "Nearest" is the least sum of increase * (count above the estimate)
 * + decrease * (count below it) over nodes and edges, as in He, Mestre, Pupyrev, Wang and Yu,
 * Profile inference revisited (POPL 2022; LLVM's profi); here edges may have estimates too. A
 * minimum-cost circulation on the graph closed by cfg_closure_new, whose added edges are free,
 * solved by the network simplex method.
 */

/* What is known of one node or edge. */
struct cfg_flow_estimate {
	uint64_t count;
	uint32_t increase, decrease; /* the cost of each execution above and below count */
};

/* Of what nothing is known: count 0, and an increase that is small beside those of the known. */

#define CFG_FLOW_COST_MAX (1u << 20)
#define CFG_FLOW_SUM_MAX  ((uint64_t)1 << 60) /* of all counts */

struct cfg_flow_problem {
	const struct cfg_graph *graph;
	const struct cfg_flow_estimate *nodes; /* one a node */
	const struct cfg_flow_estimate *edges; /* one an edge; NULL: nothing known, nothing paid */
	/*
	 * Elementary steps at most, 0: CFG_FLOW_STEPS. When they do not suffice the result is a
	 * possible flow that is not the nearest, and optimal is false.
	 */
	uint64_t max_steps;
	/*
	 * Give each part of the graph that the repaired flow leaves as an island (a loop that runs,
	 * and nothing leads to it) one execution more on the way that changes least.
	 */
	bool join_islands;
};

#define CFG_FLOW_STEPS ((uint64_t)1 << 30) /* a few seconds */

struct cfg_flow {
	const uint64_t *nodes, *edges;
	double cost; /* the sum that was made least */
	bool optimal;
	uint64_t steps;
	struct arena *memory;
};

/* -EINVAL: a cost above CFG_FLOW_COST_MAX; -ERANGE: counts above CFG_FLOW_SUM_MAX; -ENOMEM. */
int cfg_flow_new(const struct cfg_flow_problem *p, struct cfg_flow **ret);
void cfg_flow_free(struct cfg_flow *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_CIRCULATION_H
#define CULPRIT_CFG_CIRCULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Minimum-cost circulation: a flow between 0 and the capacity on each arc, with as much into each
 * node as out of it, that has the least sum of cost * flow. Solved by the primal network simplex
 * method with strongly feasible trees, which prevent cycling (Cunningham 1976; Ahuja, Magnanti and
 * Orlin, Network Flows, 1993, chapter 11), and with the block search of Grigoriadis (1986) for
 * entering arcs.
 */

#define CIRCULATION_UNLIMITED INT64_MAX

struct circulation_arc {
	uint32_t from, to;
	int64_t cost;	  /* if negative, the capacity must be limited */
	int64_t capacity; /* at least 0, or CIRCULATION_UNLIMITED */
	int64_t flow;	  /* the result */
};

/* Bounds on |cost|, and on the sum of all limited capacities, so that sums fit in 64 bits. */
#define CIRCULATION_COST_MAX	 (1 << 24)
#define CIRCULATION_CAPACITY_MAX ((int64_t)1 << 61)

/*
 * Stops after about max_steps elementary steps: the flow is then feasible but perhaps not of least
 * cost, and *ret_optimal is false. 0, -EINVAL (an arc of a node that does not exist, a cost or
 * capacity out of bounds), -ENOMEM.
 */
int circulation_solve(uint32_t node_count, struct circulation_arc *arcs, size_t arc_count,
		      uint64_t max_steps, uint64_t *ret_steps, bool *ret_optimal);

#endif

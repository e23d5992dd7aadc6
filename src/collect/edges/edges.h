/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGES_EDGES_H
#define CULPRIT_COLLECT_EDGES_EDGES_H

#include <stdint.h>
#include "bpf/wire_edges.h"
#include "collect/follow/follower.h"
#include "db/counters.h"

/*
 * Edge samples (DCPI, section 7): a share of the samples is followed by an interpreter in the
 * kernel, which says where control would go from there. This gives it the code to run over, takes
 * its windows, and keeps its cost within the budget. See doc/edges.md.
 */
extern const struct follower_ops edges_follower; /* options: struct values_options, or NULL: its
						    windows shall tell no values */

/* The share of the budget that windows may take, while interrupts take the rest. */
#define EDGES_BUDGET_SHARE (1.0 / 3)
/* The assumed cost of a window, until it is measured, and of the drain's work for it. */
#define EDGE_WINDOW_DEFAULT_NS 20000.0
#define EDGE_WINDOW_DRAIN_NS   4000.0

struct edges_status {
	COUNTERS_OF_EDGES(COUNTER_FIELD)
	uint64_t ends[WIRE_END_REASONS];
};
/* edges: what the follower opened; NULL: all 0. */
void edges_read_status(const void *edges, struct edges_status *ret);

#endif

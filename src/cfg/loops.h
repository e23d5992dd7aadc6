/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_LOOPS_H
#define CULPRIT_CFG_LOOPS_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * The nest of loops. Havlak, Nesting of reducible and irreducible loops (TOPLAS 1997), in the
 * almost linear form of Ramalingam, Identifying loops in almost linear time (TOPLAS 1999): a loop
 * is a strongly connected region, its header the node of it that a depth-first search meets first,
 * and the loops inside it are those of the region without the edges into the header. So where the
 * graph is reducible these are the natural loops, those of one header as one; a region with several
 * entries is one irreducible loop, its header one of the entries. Regions that the entry does not
 * reach have their loops too, but are no entries to those that it does reach.
 */

#define CFG_LOOP_NONE UINT32_MAX

struct cfg_loop {
	uint32_t header;
	uint32_t parent;  /* the loop around it, or CFG_LOOP_NONE */
	uint32_t depth;	  /* 1: outermost */
	uint32_t members; /* nodes, of nested loops too */
	uint32_t place;	  /* among all, in an order in which those inside follow at once ... */
	uint32_t inside;  /* ... and how many they are, with those inside them */
	bool irreducible; /* has other entries than its header */
};

struct cfg_loops {
	uint32_t loop_count;
	const struct cfg_loop *loops; /* a loop comes before those inside it */
	const uint32_t *innermost;    /* of each node: its innermost loop, or CFG_LOOP_NONE */
	struct arena *memory;
};

int cfg_loops_new(const struct cfg_graph *g, struct cfg_loops **ret); /* 0 or -ENOMEM */
void cfg_loops_free(struct cfg_loops *l);

/* Whether the loop, or one inside it, has the node. */
bool cfg_loop_has(const struct cfg_loops *l, uint32_t loop, uint32_t node);

#endif

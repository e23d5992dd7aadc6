/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_LOOPS_H
#define CULPRIT_CFG_LOOPS_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * The loop nest by Havlak, Nesting of reducible and irreducible loops (TOPLAS 1997), in the almost
 * linear form of Ramalingam, Identifying loops in almost linear time (TOPLAS 1999). A loop is a
 * strongly connected region; its header is the node of it that a depth-first search meets first;
 * and the loops inside it are those of the region without the edges into the header. So in a
 * reducible graph they are the natural loops, with those of one header merged; a region with
 * several entries is one irreducible loop, whose header is one of the entries. Regions that cannot
 * be reached from the entry have loops too, but their edges do not count as entries to loops in the
 * rest of the graph.
 */

#define CFG_LOOP_NONE UINT32_MAX

struct cfg_loop {
	uint32_t header;
	uint32_t parent;  /* the loop around it, or CFG_LOOP_NONE */
	uint32_t depth;	  /* 1: outermost */
	uint32_t members; /* number of nodes, those of inner loops included */
	uint32_t place;	  /* in preorder of the nest, in which inner loops follow directly */
	uint32_t inside;  /* number of loops inside, at any depth */
	bool irreducible; /* has entries other than its header */
};

struct cfg_loops {
	uint32_t loop_count;
	const struct cfg_loop *loops; /* each loop stands before those inside it */
	const uint32_t *innermost;    /* for each node: its innermost loop, or CFG_LOOP_NONE */
	struct arena *memory;
};

int cfg_loops_new(const struct cfg_graph *g, struct cfg_loops **ret); /* 0 or -ENOMEM */
void cfg_loops_free(struct cfg_loops *l);

/* Whether the loop, or a loop inside it, has the node. */
bool cfg_loop_has(const struct cfg_loops *l, uint32_t loop, uint32_t node);

#endif

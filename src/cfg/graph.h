/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_GRAPH_H
#define CULPRIT_CFG_GRAPH_H

#include <stddef.h>
#include <stdint.h>

/*
 * A directed graph as plain arrays, on which the passes (loops.h, equivalence.h, flow.h) work. Any
 * graph is allowed: self-loops, parallel edges, nodes that cannot be reached, nodes that reach
 * nothing, no edges at all. The passes take linear or almost linear time unless they say otherwise,
 * and do not recurse.
 *
 * function_graph.h makes the graph of a function.
 */

#define CFG_NODE_NONE UINT32_MAX

/* The maximum of nodes and edges together, so that 32-bit numbers suffice for the arrays of all
 * passes. */
#define CFG_GRAPH_MAX (1u << 28)

struct arena;

struct cfg_graph {
	uint32_t node_count, edge_count;
	uint32_t entry, exit;	   /* two different nodes; the exit may have no edges */
	const uint32_t *from, *to; /* the ends of each edge */
	const uint32_t *first_out,
		*out;		       /* edges that leave n: out[first_out[n] .. first_out[n+1]) */
	const uint32_t *first_in, *in; /* edges that enter n, likewise */
	struct arena *memory;
};

/*
 * Copies the edges. 0, -EINVAL (a node out of range, entry == exit, or more than CFG_GRAPH_MAX
 * nodes and edges), -ENOMEM.
 */
int cfg_graph_new(uint32_t node_count, uint32_t entry, uint32_t exit, const uint32_t *from,
		  const uint32_t *to, uint32_t edge_count, struct cfg_graph **ret);
void cfg_graph_free(struct cfg_graph *g);

/*
 * The edges that make a graph strongly connected, so that flow is conserved at every node:
 *  - exit to entry: the function is called again;
 *  - to exit, from one node of each strongly connected region that has no way out (an infinite
 *    loop; a call that never returns): the node whose edge closes the region's cycle where it has
 *    one, so that a loop keeps its shape;
 *  - from exit, to one node of each region that nothing enters (handlers of exceptions, targets
 *    of jumps that were not resolved).
 * The first is always there. Anderson et al., SOSP 1997, section 6.1.2, extend cycle equivalence by
 * the second kind.
 */
struct cfg_closure {
	uint32_t count;
	const uint32_t *from, *to;
	struct arena *memory;
};

int cfg_closure_new(const struct cfg_graph *g, struct cfg_closure **ret); /* 0 or -ENOMEM */
void cfg_closure_free(struct cfg_closure *c);

#endif

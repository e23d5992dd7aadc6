/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_PLAN_H
#define CULPRIT_INSTRUMENT_PLAN_H

#include <stdbool.h>
#include "cfg/cfg.h"

/*
 * Where a function is counted: on the edges outside of a maximum spanning tree by how often each
 * is expected to run, which is the least that tells the counts of all (Knuth, The Art of Computer
 * Programming 1, 2.3.4.1; Ball and Larus, Optimally profiling and tracing programs, TOPLAS 1994,
 * section 3). counts.h has the way back, copy.h makes the code.
 *
 * The graph is that of the function with one node for all that is outside, and with what a counter
 * in the copy can see:
 *  - every call that returns has a second edge to the outside, for the times that it does not
 *    (exit, exceptions, longjmp, or not yet). It cannot be counted and is in the tree, so that
 *    what calls do never makes a count wrong;
 *  - indirect jumps that share a target lead to one node, which leads to all their targets;
 *  - a place of the original at which the copy is entered for several causes is a node too.
 */

/* Why a function is left alone. */
enum instrument_reason {
	INSTRUMENT_WHY_GRAPH,	    /* its graph is not complete */
	INSTRUMENT_WHY_TABLE,	    /* a jump table's end is not proven */
	INSTRUMENT_WHY_OVERLAP,	    /* instructions overlap each other */
	INSTRUMENT_WHY_ENTERED,	    /* other code leads into the middle, or shares it */
	INSTRUMENT_WHY_INSTRUCTION, /* an instruction that cannot run elsewhere */
	INSTRUMENT_WHY_SEGMENT,	    /* the function uses %gs itself */
	INSTRUMENT_WHY_ROOM,	    /* no room to enter the copy, at the entry or behind a call */
	INSTRUMENT_WHY_SHARED,	    /* places entered in several ways that no counter tells apart */
	INSTRUMENT_WHY_LIMIT,	    /* larger than INSTRUMENT_BLOCKS_MAX */
	INSTRUMENT_WHY_FLAGS,	    /* it is entered, or goes on behind a call, with flags */
	INSTRUMENT_WHY_PATHS,	    /* too many paths, whatever is cut */
	INSTRUMENT_REASONS,
};
const char *instrument_reason_text(enum instrument_reason why);

#define INSTRUMENT_BLOCKS_MAX (1u << 20) /* of one function; and of its edges 4 times that */
#define INSTRUMENT_NONE	      UINT32_MAX

/* What is asked. Borrowed; the function must outlive the plan. */
struct instrument_request {
	/* Of an image of x86-64 programs. */
	const struct cfg_function *function;
	/* How often each edge of the function is expected to run, NULL: by the loops it is in. */
	const uint64_t *weights;
	/* instrument_entered_new() */
	const uint64_t *entered;
	size_t entered_count;
	/* The caller reads the flags that the function leaves, as hand-written code may. */
	bool returns_flags;
	/* Other than 0: its paths are counted, this many at most (paths.h), not its edges. */
	uint32_t paths_max;
};

/* Where in the copy an edge of the plan is seen. */
enum instrument_site {
	INSTRUMENT_AT_END,	/* of its block, before the jump or return there */
	INSTRUMENT_AT_NEXT,	/* behind a conditional branch */
	INSTRUMENT_AT_TAKEN,	/* on the way to the branch's target */
	INSTRUMENT_AT_ENTRANCE, /* of the block that it leads to */
	INSTRUMENT_SITES,
	INSTRUMENT_AT_NONE = INSTRUMENT_SITES, /* nowhere */
};

struct instrument_edge {
	uint32_t from, to; /* nodes: blocks, then the outside, then what was made up */
	uint32_t block;	   /* whose site it is */
	uint32_t slot;	   /* of its counter, or INSTRUMENT_NONE: in the tree */
	uint8_t site;	   /* enum instrument_site */
	bool flags;	   /* are live there: the counter must keep them */
	bool net; /* calls that did not return, less returns without calls: may be negative */
	uint64_t weight;
};

/* An address of the original at which the copy is entered: the start of a block. */
struct instrument_entrance {
	uint32_t block;
	uint64_t patch; /* where the jump lies */
	uint64_t relay; /* where the jump lies that one of 2 bytes leads to; ISA_NO_ADDRESS: none */
};

struct instrument_plan {
	const struct cfg_function *function;
	struct instrument_paths *paths; /* NULL: edges are counted */
	uint32_t node_count, edge_count, slot_count;
	struct instrument_edge *edges;
	/* Of each edge of the function: that of the plan; INSTRUMENT_NONE: it cannot be known, only
	 * the blocks' counts can (indirect jumps with common targets). */
	uint32_t *of_edge;
	/* Of each block and site: its edge with a counter, or at which something is done for
	 * paths; or INSTRUMENT_NONE. */
	uint32_t (*at)[INSTRUMENT_SITES];
	/* Of each block: whether the original runs it behind the call that returns there, as there
	 * is no room to enter the copy: to the call that ends it, or to the entrance of the one
	 * block that follows. Where that is not seen (a call, an entrance that others share), the
	 * call is taken to return each time. */
	bool *through;
	struct instrument_entrance *entrances; /* by block */
	uint32_t entrance_count;
};

/* 0; -EOPNOTSUPP: the function is to be left alone, and *ret_why says why; -ENOMEM. */
int instrument_plan_new(const struct instrument_request *q, struct instrument_plan **ret,
			enum instrument_reason *ret_why);
void instrument_plan_free(struct instrument_plan *plan);

/*
 * The addresses of an image that code leads to from outside of the function they are in, ascending:
 * entries, targets of calls and of jumps between functions, code that code takes the address of,
 * and what functions share. Builds the
 * graphs of all functions. free() it. 0, -ENOMEM.
 */
int instrument_entered_new(struct cfg_image *image, uint64_t **ret, size_t *ret_count);

#endif

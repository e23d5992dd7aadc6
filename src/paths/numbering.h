/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_PATHS_NUMBERING_H
#define CULPRIT_PATHS_NUMBERING_H

#include <stdbool.h>
#include "cfg/graph.h"

/*
 * Numbers the paths through a graph (Ball and Larus, Efficient path profiling, MICRO-29, 1996). A
 * path begins at the entry, or where a cut edge leads to, and ends at the exit, or by a cut edge:
 * back edges are cut, and others where there would be too many paths. So each walk from entry to
 * exit is one sequence of paths, and the numbers of the paths are 0, 1, 2, ... without gaps.
 *
 * A register that is set where a path begins, and to which edges add, has the path's number where
 * it ends. What edges add is chosen so that those of a maximum spanning tree add nothing
 * (sections 3.2 and 3.3: event counting). doc/paths.md has the rules with examples.
 */

enum paths_trait {
	/* Must not be cut. If it leads back, those that leave the node that it leads to are. */
	PATHS_WHOLE = 1,
	PATHS_STILL = 2, /* must add nothing, and is not cut; from a node to the exit, one a node */
};

struct paths_problem {
	/* No edge leaves the exit or enters the entry. Borrowed, as the arrays are, and kept. */
	const struct cfg_graph *graph;
	const uint64_t *weights; /* of each edge: how often it is expected to run */
	const uint8_t *traits;	 /* of each edge: enum paths_trait, or'ed; NULL: none */
	uint32_t max;		 /* paths; at most PATHS_COUNT_MAX */
};

#define PATHS_COUNT_MAX (1u << 24)

enum paths_cut {
	PATHS_CUT_NOT,
	PATHS_CUT_BACK, /* a back edge of a depth-first search */
	PATHS_CUT_MANY, /* one of the coldest: there were more paths than the maximum */
};

/* What is done at an edge. */
struct paths_edge {
	enum paths_cut cut;
	/* To the register; of a cut edge before the path is counted. An edge from the entry sets
	 * the register to it. */
	int32_t add;
	int32_t begin; /* of a cut edge: what the register is set to then */
};

struct paths_numbering {
	const struct cfg_graph *graph;
	uint32_t count;		  /* of paths */
	uint32_t cut_many;	  /* edges that were cut as there were too many */
	struct paths_edge *edges; /* of each edge of the graph */
	/* For the way back from a number. */
	uint32_t *paths;  /* of each node: how many begin with it */
	uint32_t *values; /* of each edge: the paths of its node that stand before those by it */
	uint32_t *begins; /* of each node that cut edges lead to: the same, of the entry's paths */
	bool *is_begin;
};

/* 0; -E2BIG: there are too many, whatever is cut; -EINVAL: back edges that must not be cut, nor
 * those behind them, or a graph that is not as above; -ENOMEM. */
int paths_number(const struct paths_problem *p, struct paths_numbering **ret);
void paths_numbering_free(struct paths_numbering *n); /* NULL is fine */

/*
 * The path of a number: ret_begin is the entry, or the node that a cut edge led to; edges, with
 * room for as many as the graph has nodes, get the path's edges in order, of which the last one
 * leads to the exit or is cut. Returns how many; 0: there is no such number.
 */
uint32_t paths_find(const struct paths_numbering *n, uint32_t number, uint32_t *ret_begin,
		    uint32_t *edges);

#endif

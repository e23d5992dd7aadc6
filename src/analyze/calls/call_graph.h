/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_CALL_GRAPH_H
#define CULPRIT_ANALYZE_CALLS_CALL_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/calls/tree.h"
#include "db/reader.h"
#include "util/diag.h"

/*
 * The call graph of a calling context tree, in the form of gprof (Graham, Kessler and McKusick,
 * SIGPLAN 1982): each function with those that call it and those that it calls. What an arc cost is
 * known from the stacks; beside it stands what gprof would have said, which knows only how often
 * each function was called by whom: it divides a function's time among its callers by these counts.
 * Functions that call each other in a circle are a cycle, whose time is shared as a whole.
 *
 * Everything is of the first event, except for the totals of each event. The trees are without
 * inlined functions, whose calls cannot be counted.
 */

#define CALL_NOBODY UINT32_MAX /* as a caller: the thread's start, or one that is on no stack */

struct call_arc {
	uint32_t from, to; /* functions of the set; from may be CALL_NOBODY */
	/* Stacks whose outermost call of `to` is this arc: those that end in `to`, and all. */
	uint64_t self, total;
	uint64_t calls; /* how often it was seen, see struct call_counts */
	uint32_t sites; /* call sites of it, on stacks */
	double gprof_self, gprof_total;
};

struct call_function {
	uint64_t self, total;
	uint64_t calls, recursive_calls; /* by others, and by itself */
	double gprof_total;		 /* gprof's self is the same */
	uint32_t cycle;			 /* number, from 1; 0: in none */
	uint32_t *in, *out;		 /* arcs, the heaviest first; without those to itself */
	uint32_t in_count, out_count;
	bool guessed; /* gprof's rule: no call was seen, so each site of a caller counts as one */
};

struct call_cycle {
	uint64_t self, total,
		calls; /* total: stacks with any of its functions; calls: from outside */
	double gprof_total;
};

struct call_graph {
	const struct tree *tree;
	struct call_function *functions; /* as the set's; total 0: not in the tree */
	struct call_arc *arcs;
	struct call_cycle *cycles; /* from 1 */
	size_t arc_count, cycle_count;
	uint32_t *order; /* the functions of the tree, callees before callers, cycles together */
	size_t ordered;
	uint32_t *members; /* room for the lists of arcs */
	/* The totals of functions, arcs and cycles again, for each event of the tree. */
	uint64_t *function_totals, *arc_totals, *cycle_totals;
};

/* How often functions were seen to call each other: passes over edges, in windows of code that was
 * followed (see db_batch_edge). A call through a PLT's stub is one of what the stub jumps to. */
struct call_count {
	uint32_t from, to; /* functions of a set; from may be CALL_NOBODY */
	uint64_t calls;
};

struct call_counts {
	struct call_count *list;
	size_t count;
};

/* Reads those of the epochs that the reader has selected; source as in stack_set_finish. */
int call_counts_read(const struct stack_set *s, const struct rank_source *source,
		     struct db_reader *reader, struct call_counts **ret, struct diag *diag);
void call_counts_free(struct call_counts *c);

int call_graph_new(const struct tree *t, const struct call_counts *counts, struct call_graph **ret,
		   struct diag *diag);
void call_graph_free(struct call_graph *g);

#endif

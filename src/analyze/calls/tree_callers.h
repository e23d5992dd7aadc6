/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_TREE_CALLERS_H
#define CULPRIT_ANALYZE_CALLS_TREE_CALLERS_H

#include "analyze/calls/tree.h"

/*
 * A calling context tree inverted: the children of the root are functions, and the children of any
 * other node are the functions that called it. self is what the function at the top itself took
 * when it was called along this chain, total what it took with everything that it called; of
 * recursive calls only the outermost counts for total.
 */

struct tree_callers_options {
	const bool *functions; /* which functions are at the top, by index in the set; NULL: all */
	bool merge_sites;
	bool by_total;	/* children are ordered by total, not by self */
	uint64_t least; /* of the first event: nodes with less get no callers */
	uint64_t depth; /* levels of nodes, the top one included; 0: no limit */
};

/* A node's site is where it calls its parent's function. The caller frees the result by
 * tree_free(). -E2BIG: more nodes than TREE_NODES_MAX; -ENOMEM. */
int tree_callers(const struct tree *t, const struct tree_callers_options *options,
		 struct tree **ret, struct diag *diag);

/* Callers and callees of a function, each once. */
struct tree_neighbor {
	uint32_t function; /* TREE_NO_FUNCTION: the thread's start */
	uint64_t site;	   /* as in struct tree_node */
	const char *site_file;
	uint32_t site_line;
	uint64_t *stacks; /* for each event */
};

/*
 * The sum of the callers, and that of the callees and self, are the total: when the function is
 * under way several times, its caller is that of the outermost call, its callee that of the
 * innermost.
 */
struct tree_neighbors {
	uint64_t self[QUERY_EVENTS_MAX], total[QUERY_EVENTS_MAX];
	struct tree_neighbor *callers,
		*callees; /* those with most stacks of the first event first */
	size_t caller_count, callee_count;
	struct arena *memory;
};

/* functions: those that count as one, by index in the set. merge_sites: as in tree_options. */
int tree_neighbors_new(const struct tree *t, const bool *functions, bool merge_sites,
		       struct tree_neighbors **ret, struct diag *diag);
void tree_neighbors_free(struct tree_neighbors *n);

/*
 * Marks the functions of the tree whose name is text; when there are none, those that have it in
 * their name; when there are none either, those that it matches as an extended regular expression.
 * ret has room for each function of the set. Returns 0, 1 when all have one name, or more.
 */
size_t tree_find_functions(const struct tree *t, const char *text, bool *ret);

#endif

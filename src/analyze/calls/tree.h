/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_TREE_H
#define CULPRIT_ANALYZE_CALLS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/calls/stack_set.h"
#include "util/diag.h"

/*
 * The calling context tree (Ammons, Ball and Larus, PLDI 1997, section 4): a node for each distinct
 * chain of calls, starting where threads start. Stacks that were cut begin with their note, so that
 * they stand under a root of their own ("[truncated: ...]").
 */

struct tree_options {
	bool merge_sites; /* a callee is one node, whatever instruction of the caller calls it */
	bool fold;	  /* recursion is a back edge: no function is its own ancestor */
	bool no_inlined;  /* what was inlined is part of the function around it */
	/* Only stacks with such a function (extended regex), and with one of such an image (glob);
	 * NULL: all */
	const char *function, *image;
};

#define TREE_NO_FUNCTION UINT32_MAX
#define TREE_NO_SITE	 UINT64_MAX

struct tree_node {
	uint32_t parent;
	uint32_t function; /* index in the set's functions; TREE_NO_FUNCTION: the root or a group */
	uint32_t group;	   /* of a group (a child of the root), else QUERY_NO_GROUP */
	/* Its children are children[first_child ...], in the order that tree_order() was given: in
	 * a tree of tree_new(), those with the largest total of the first event stand first. */
	uint32_t first_child, child_count;
	/* The call: the address of its last byte, in the parent's image. TREE_NO_SITE: there are
	 * several, it was inlined, or there is none. The source line is known of inlined calls
	 * too. */
	uint64_t site;
	const char *site_file; /* NULL: not known, or of several */
	uint32_t site_line;    /* 0: likewise */
	const char *file;      /* source file of the function; NULL: not known */
	bool recursive;	       /* folded: a call of the function came from here or further in */
};

/* Read only. Node 0 is the root, and a parent has a smaller number than its children. */
struct tree {
	const struct stack_set *set;
	struct tree_node *nodes;
	uint32_t *children;
	size_t node_count, event_count;
	uint64_t *self, *total;		     /* for each node, for each event of the query */
	uint64_t selected[QUERY_EVENTS_MAX]; /* by event: stacks in the tree, out of set->totals */
};

static inline uint64_t tree_self(const struct tree *t, uint32_t node, size_t event)
{
	return t->self[node * t->event_count + event];
}

/* With all that is called from there. */
static inline uint64_t tree_total(const struct tree *t, uint32_t node, size_t event)
{
	return t->total[node * t->event_count + event];
}

static inline const struct stack_function *tree_function(const struct tree *t, uint32_t node)
{
	uint32_t function = t->nodes[node].function;

	return function == TREE_NO_FUNCTION ? NULL : &t->set->functions[function];
}

/* set must outlive it. -EINVAL: the regex is wrong; -E2BIG: more nodes than memory should hold. */
int tree_new(const struct stack_set *set, const struct tree_options *options, struct tree **ret,
	     struct diag *diag);
void tree_free(struct tree *t);

/* Calls enter for each node but the root, then for its children in their order, then leave. 0 or
 * -ENOMEM. */
int tree_visit(const struct tree *t, void (*enter)(void *arg, uint32_t node),
	       void (*leave)(void *arg, uint32_t node), void *arg);

#define TREE_NODES_MAX (1u << 24)

/* Fills in children, from the nodes' parents; by: for each node, for each event. 0 or -ENOMEM. */
int tree_order(struct tree *t, const uint64_t *by);

#endif

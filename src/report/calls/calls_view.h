/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CALLS_CALLS_VIEW_H
#define CULPRIT_REPORT_CALLS_CALLS_VIEW_H

#include "analyze/calls/call_graph.h"
#include "analyze/calls/tree.h"
#include "analyze/calls/tree_callers.h"
#include "report/metrics.h"
#include "render/json.h"
#include "render/table.h"

/* What `culprit calls` shows of a calling context tree, and the forms in which it does. */

struct calls_view {
	const struct tree *tree;
	/* Nodes are shown by the samples of the stacks that end in them (a tree of callers), or go
	 * through them. */
	bool by_self;
	bool callers;	/* the tree was turned round */
	bool runs;	/* what repeats itself is shown once: for people */
	double prune;	/* percent of all samples, selected or not: what has less is not shown */
	uint64_t depth; /* levels that are shown; 0: all */
	uint64_t limit; /* of each node's children so many are shown; 0: all */
	struct metrics metrics;
	double hot; /* percent of the caller that the next step of the hot path has; 0: show all */
};

/* What is not shown below a node. */
struct calls_rest {
	uint32_t nodes;	  /* children of it */
	uint64_t samples; /* in them, of the first event */
};

/* Called for each node that is shown, the root too, in preorder. */
struct calls_visitor {
	int (*enter)(void *arg, uint32_t node, uint64_t depth);
	int (*leave)(void *arg, uint32_t node, uint64_t depth, const struct calls_rest *rest);
	void *arg;
};

/* Stops at the first error of the visitor, and returns it; -ENOMEM. */
int calls_walk(const struct calls_view *v, const struct calls_visitor *visitor);
/* How many children of a node are shown, and what is not. */
uint32_t calls_count_shown(const struct calls_view *v, uint32_t node, uint64_t depth,
			   struct calls_rest *ret);

/* The samples of the stacks of event 0 that have one of the functions, each once. 0 or -ENOMEM. */
int calls_count_through(const struct tree *t, const bool *functions, uint64_t *ret);
double calls_share(const struct tree *t, size_t event, uint64_t samples);
/*
 * "app.c:12", or "0x1234"; "" when not known. shared: others have the same line, so that the
 * address is given too, as in "app.c:12 (0x1234)".
 */
void calls_format_site(const struct tree_node *n, bool shared, char *out, size_t room);
/* Whether two calls of one function are on the same line, but at different places in it. */
bool calls_share_line(const struct tree_node *a, const struct tree_node *b);
/* A name, escaped. */
void calls_write_name(const char *name, struct buf *to);
/* Names a group's subject, as prof does. To be freed; NULL when out of memory. */
char *calls_group_name(const struct tree *t, uint32_t node);

/* The tree as a table, for text and CSV. h is told of metrics. ret is the caller's in any case, as
 * of the other tables. */
int calls_tree_table(const struct calls_view *v, struct report_header *h, struct table **ret,
		     struct diag *diag);
/* The tree as JSON. */
int calls_tree_json(const struct calls_view *v, struct report_header *h, FILE *out,
		    struct diag *diag);

/*
 * Marks the functions that a text means. -ENOENT: none; -EEXIST: it may be several, which the
 * sentence names.
 */
int calls_pick(const struct tree *t, const char *text, bool *ret, struct diag *diag);
/* Callers and callees of one function. */
struct calls_function {
	const struct tree *tree;
	const struct tree_neighbors *neighbors;
	const bool *functions; /* those that are meant: of one name */
	double prune;
	uint64_t limit; /* of callers, and of callees; 0: none */
	const struct metrics *metrics;
};
/* h is told of metrics. */
int calls_function_table(const struct calls_function *f, struct report_header *h,
			 struct table **ret, struct diag *diag);
int calls_function_json(const struct calls_function *f, struct report_header *h, FILE *out,
			struct diag *diag);

/* gprof's listing. */
struct calls_gprof {
	const struct call_graph *graph;
	double prune;
	uint64_t limit; /* of entries, and of the callers and callees of each; 0: none */
	const struct metrics *metrics;
};
int calls_gprof_table(const struct calls_gprof *g, struct report_header *h, struct table **ret,
		      struct diag *diag);
int calls_gprof_json(const struct calls_gprof *g, struct report_header *h, FILE *out,
		     struct diag *diag);

/* The header's JSON, with what is said about the stacks. */
json_t *calls_json_header(const struct stack_set *s, const struct report_header *h);

#endif

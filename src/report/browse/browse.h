/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_BROWSE_BROWSE_H
#define CULPRIT_REPORT_BROWSE_BROWSE_H

#include "render/outline.h"
#include "report/session.h"

/* The scopes of what a session selects as trees to walk through: by calls from the threads' starts
 * in, by callers, and flat (images, then functions). Shares are of the first event. */

enum browse_view { BROWSE_DOWN, BROWSE_UP, BROWSE_FLAT, BROWSE_VIEWS };

struct browse_scope {
	const char *name; /* of the function or image, as it is; a note */
	uint64_t self, total;
	bool inlined;
	const struct query_image *image; /* of a function that may be listed; NULL: of others */
	uint64_t start;			 /* its address */
};

struct browse_tree {
	struct browse_scope *scopes; /* by node; those of node 0 are of all */
	struct outline_node *nodes;
	uint32_t *children;
	size_t count; /* with the root: 1, if there is nothing */
};

enum browse_order { BROWSE_BY_TOTAL, BROWSE_BY_SELF, BROWSE_BY_NAME, BROWSE_ORDERS };

struct browse {
	struct browse_tree trees[BROWSE_VIEWS];
	uint64_t all;	   /* samples that shares are of */
	const char *event; /* the first one's label */
	bool has_stacks;   /* without, only the flat view has something */

	struct stack_set *stacks; /* private, like the rest */
	struct tree *down, *up;
	struct rank *functions, *images;
};

/* Reads the session, which ret needs from then on. Errors as in report_session_read, rank_new and
 * tree_new. browse_free() after a failure, too. */
int browse_make(struct report_session *s, struct browse *ret, struct report_header *h,
		struct diag *diag);
void browse_free(struct browse *b); /* what it owns */

/* Puts the children of each node into this order: numbers falling, names rising. */
void browse_sort(struct browse_tree *t, enum browse_order by);
/* The end of the hot path from a node on: always the child with the largest total, while it has
 * half of its parent's. */
uint32_t browse_hot(const struct browse_tree *t, uint32_t node);

#endif

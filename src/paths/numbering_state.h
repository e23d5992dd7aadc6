/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_PATHS_NUMBERING_STATE_H
#define CULPRIT_PATHS_NUMBERING_STATE_H

#include "paths/numbering.h"

/* A numbering on its way; for numbering*.c only. */

/* More paths than this are not counted, even before edges are cut: 2^1000. */
#define NUMBERING_PATHS_MAX 0x1p1000L

struct numbering {
	const struct paths_problem *problem;
	const struct cfg_graph *graph;
	struct paths_numbering *n;
	uint32_t *scratch; /* 2 of each node */
	uint32_t *order;   /* the nodes that the entry reaches, each after those it leads to */
	uint32_t order_count;
	bool *is_opened; /* nodes of which all edges are cut, as one to it cannot be */
	/* Of each node. They may be many more than 2^64, but those that are used are exact. */
	long double *onward; /* the paths that begin with it */
	long double *ways;   /* to it, from where paths begin */
};

/* What each edge adds. 0, -ENOMEM. (numbering_spread.c) */
int numbering_spread(struct numbering *s);

#endif

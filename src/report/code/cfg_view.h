/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_CFG_VIEW_H
#define CULPRIT_REPORT_CODE_CFG_VIEW_H

#include "analyze/query/functions.h"
#include "analyze/insight.h"
#include "analyze/query/query.h"
#include "cfg/cfg.h"
#include "cfg/loops.h"
#include "report/metrics.h"
#include "report/paths/paths.h"
#include "find/find.h"
#include "render/table.h"
#include "util/buf.h"

/* What `culprit cfg` shows of a function. */
struct cfg_view {
	const char *name; /* demangled, or NULL */
	const struct cfg_function *function;
	struct cfg_loops *loops;
	uint64_t *samples;			   /* of the first event, of each instruction */
	uint64_t *block_samples;		   /* of each block */
	uint64_t total;				   /* of the function */
	double *blocks, *edges;			   /* how often each ran */
	const struct frequency_function *estimate; /* NULL: they are a guess from samples alone */
	bool without_edges;			   /* the estimate is from samples alone, too */
	char **texts;				   /* of each instruction; NULL: not available */
	bool *marked_blocks, *marked_edges;	   /* of one path; NULL: none is shown */
	const struct query_part *part;		   /* samples of all events; NULL: none */

	/* Private. */
	struct cfg_image *image; /* NULL: the graph is the insights' own */
	struct arena *memory;
};

struct cfg_view_request {
	const struct query *query;
	struct image_finder *finder;
	const struct insights *insights; /* must outlive the view; NULL: nothing tells time */
	const struct function_hit *hit;
	enum isa_syntax syntax;
};

/* -ENOENT, -ESTALE: there is no code, or not the profiled code. */
int cfg_view_new(const struct cfg_view_request *q, struct cfg_view **ret, struct diag *diag);
/* Marks the way of a path of this function. -ENOENT: the path is of another; -ENOMEM. */
int cfg_view_mark(struct cfg_view *v, const struct paths_one *path, struct diag *diag);
void cfg_view_free(struct cfg_view *v);

/*
 * The drawing, in DOT. Unless all is wanted, only the part of a large function that ran;
 * ret_hidden: the blocks left out.
 */
struct cfg_view_choice {
	bool all;	/* of a large function too */
	uint64_t limit; /* blocks, by most samples, then executions; 0: no limit */
};
int cfg_view_draw(const struct cfg_view *v, const struct report_header *h,
		  const struct metrics_bound *metrics, const struct cfg_view_choice *choice,
		  struct buf *out, size_t *ret_hidden);
/* The name of a kind of edges, as "fall-through". */
const char *cfg_view_kind(enum cfg_edge_kind kind);
/* Blocks and edges as the rows of a table, which the caller frees. It keeps its errors (table.h);
 * NULL without memory. */
struct table *cfg_view_table(const struct cfg_view *v, struct metrics_bound *metrics);

#endif

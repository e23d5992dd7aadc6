/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_LIST_TABLE_H
#define CULPRIT_REPORT_CODE_LIST_TABLE_H

#include "analyze/query/functions.h"
#include "analyze/insight.h"
#include "analyze/listing.h"
#include "analyze/query/rank.h"
#include "analyze/source.h"
#include "report/code/list_hot.h"
#include "report/metrics.h"
#include "render/table.h"

/* The tables of `culprit list`: one function's listing, the functions to choose from, a file. */
struct list_table {
	const struct query *query;
	const struct function_hit *hit;
	const struct listing *listing;
	/* How often instructions ran and what they cost; NULL: not known, no such columns. */
	const struct insight *insight;
	enum table_format format;
	struct metrics_bound metrics;
	struct list_hot *hot;
};

/* 0, or -ENOMEM; ret is the caller's in any case. */
int list_table_make(struct list_table *l, struct table **ret);
/* Lines of a file that have samples, and all others that it has. */
struct list_lines {
	const struct query *query;
	const uint64_t *totals; /* of each event, of all the report */
	struct sources *sources;
	const struct rank_row *const *rows; /* of one file, by line; at least one */
	size_t row_count;
	enum source_age age; /* of the file */
	enum table_format format;
	struct metrics_bound metrics;
	struct list_hot *hot;
};

int list_table_lines(struct list_lines *l, struct table **ret);
struct table *list_table_choices(const struct query *q, const struct functions *f);

#endif

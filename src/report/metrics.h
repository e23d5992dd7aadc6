/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_METRICS_H
#define CULPRIT_REPORT_METRICS_H

#include "analyze/query/metric.h"
#include "cfg/cfg.h"
#include "render/json.h"
#include "render/table.h"
#include "util/buf.h"

/*
 * --metric of the reports: columns that are computed from the samples of a row.
 *
 *	metrics_take()			for each option
 *	metrics_bind()			when the events are known
 *	metrics_add_columns()		to the table
 *	metrics_set()			in each row; or metrics_json(), metrics_write()
 *	metrics_describe()		in the header, last
 */

#define METRICS_MAX 16

struct metrics {
	struct metric *list[METRICS_MAX];
	size_t count;
};

/* -EINVAL: it does not parse, a second one of that name, too many. -ENOMEM. */
int metrics_take(struct metrics *m, const char *text, struct diag *diag);
void metrics_free(struct metrics *m); /* what it owns */

/* Metrics bound to one query. All zeros: there are none, and all that follows does nothing. */
struct metrics_bound {
	const struct metrics *metrics;
	struct metric_events events[METRICS_MAX];
	struct metric_sums all[METRICS_MAX];		     /* of the report */
	bool no_event[METRICS_MAX];			     /* it has no value anywhere */
	int column;					     /* the first of them in the table */
	uint64_t undefined[METRICS_MAX], cells[METRICS_MAX]; /* how many have no value */
};

/* totals: samples of each event in all the report. Errors as in metric_bind. m must outlive ret. */
int metrics_bind(const struct metrics *m, const struct query *q, const uint64_t *totals,
		 struct metrics_bound *ret, struct diag *diag);
/* The same, but a metric whose events this query does not have just has no value. */
int metrics_bind_known(const struct metrics *m, const struct query *q, const uint64_t *totals,
		       struct metrics_bound *ret, struct diag *diag);
/* Of one number of samples for each event; false: it has no value. */
bool metrics_value(const struct metrics_bound *b, size_t which, const uint64_t *counts,
		   double *ret);

/* group: in JSON and CSV ("metrics"); mark: behind the name in the heading; both static. A NULL
 * mark: not in text. */
void metrics_add_columns(struct metrics_bound *b, struct table *t, const char *group,
			 const char *mark);
/* Fills them in the last row. */
void metrics_set(struct metrics_bound *b, struct table *t, const uint64_t *counts);
/* {name: value or null}; NULL when out of memory. */
json_t *metrics_json(const struct metrics_bound *b, const uint64_t *counts);
/* "ipc 0.53, mpki none": for reports whose text is no table. */
void metrics_write(const struct metrics_bound *b, const uint64_t *counts, struct buf *to);
/* Adds the samples of a function to counts, which has room for each event. */
void metrics_count_function(const struct query_part *part, const struct cfg_function *function,
			    uint64_t *counts);
/* metrics_set of a function's samples. */
void metrics_set_function(struct metrics_bound *b, struct table *t, const struct query_part *part,
			  const struct cfg_function *function);
/* Tells the header each formula, its value for the totals, and how many cells have none. of: what
 * the totals are of, static; NULL: all. */
void metrics_describe(const struct metrics_bound *b, const char *of, struct report_header *h);

#endif

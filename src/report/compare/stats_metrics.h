/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_STATS_METRICS_H
#define CULPRIT_REPORT_COMPARE_STATS_METRICS_H

#include "report/metrics.h"
#include "report/compare/sets.h"

/*
 * Metrics of rows over many sets: of all sets together, computed from their sums, and the least and
 * the most that a set has. Sets are as they were sampled: no weights.
 */
struct stats_metrics;

#define STATS_METRICS_CELLS_MAX (1u << 21)

/* m and sets must outlive it. Errors as in metric_bind; -E2BIG: too many rows. */
int stats_metrics_new(const struct metrics *m, const struct sets *sets, size_t rows,
		      struct stats_metrics **ret, struct diag *diag);
void stats_metrics_free(struct stats_metrics *s);
/* Adds samples of a set to a row; then, when a set is done, stats_metrics_end_set(). */
void stats_metrics_add(struct stats_metrics *s, size_t set, size_t row, const uint64_t *counts);
void stats_metrics_end_set(struct stats_metrics *s, size_t set);

void stats_metrics_add_columns(struct stats_metrics *s, struct table *t);
void stats_metrics_set(struct stats_metrics *s, struct table *t, size_t row); /* the last row */
void stats_metrics_describe(const struct stats_metrics *s, struct report_header *h);

#endif

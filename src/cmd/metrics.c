/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int metrics_take(struct metrics *m, const char *text, struct diag *diag)
{
	struct metric *one;
	int r;

	if (m->count == METRICS_MAX)
		return diag_fail(diag, EINVAL, "more than %d metrics", METRICS_MAX);
	r = metric_new(text, &one, diag);
	if (r)
		return r;
	for (size_t i = 0; i < m->count && !r; i++)
		if (!strcmp(metric_name(m->list[i]), metric_name(one)))
			r = diag_fail(diag, EINVAL, "two metrics have the name '%s'",
				      metric_name(one));
	if (r)
		metric_free(one);
	else
		m->list[m->count++] = one;
	return r;
}

void metrics_free(struct metrics *m)
{
	while (m->count)
		metric_free(m->list[--m->count]);
}

int metrics_bind(const struct metrics *m, const struct query *q, const uint64_t *totals,
		 struct metrics_bound *ret, struct diag *diag)
{
	struct metrics_bound bound = {.metrics = m};
	int r = 0;

	for (size_t i = 0; i < m->count && !r; i++) {
		r = metric_bind(m->list[i], q, &bound.events[i], diag);
		if (!r)
			metric_add(m->list[i], &bound.events[i], totals, &bound.all[i]);
	}
	if (!r)
		*ret = bound;
	return r;
}

static size_t count_of(const struct metrics_bound *b)
{
	return b->metrics ? b->metrics->count : 0;
}

bool metrics_value(const struct metrics_bound *b, size_t which, const uint64_t *counts, double *ret)
{
	const struct metric *m = b->metrics->list[which];
	struct metric_sums sums = {0};

	metric_add(m, &b->events[which], counts, &sums);
	return metric_value(m, &sums, &b->all[which], ret);
}

void metrics_add_columns(struct metrics_bound *b, struct table *t, const char *group,
			 const char *mark)
{
	char heading[100];

	for (size_t i = 0; i < count_of(b); i++) {
		const char *name = metric_name(b->metrics->list[i]);
		int column;

		snprintf(heading, sizeof(heading), "%.80s%s", name, mark ? mark : "");
		column = table_add_group_column(t, TABLE_VALUE, group, name, mark ? heading : NULL);
		if (!i)
			b->column = column;
	}
}

void metrics_set(struct metrics_bound *b, struct table *t, const uint64_t *counts)
{
	double value;

	for (size_t i = 0; i < count_of(b); i++) {
		b->cells[i]++;
		if (metrics_value(b, i, counts, &value))
			table_set_real(t, b->column + (int)i, value);
		else
			b->undefined[i]++;
	}
}

int metrics_describe(const struct metrics_bound *b, const char *of, struct report_header *h)
{
	int r = 0;

	for (size_t i = 0; i < count_of(b) && !r; i++) {
		const struct metric *m = b->metrics->list[i];
		struct report_metric to = {
			.name = metric_name(m),
			.formula = metric_formula(m),
			.of = of,
			.undefined = b->undefined[i],
			.cells = b->cells[i],
		};

		to.known = metric_value(m, &b->all[i], &b->all[i], &to.value);
		r = report_header_metric(h, &to);
	}
	return r;
}

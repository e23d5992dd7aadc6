/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int metrics_take(struct metrics *m, const char *text, struct diag *diag)
{
	struct metric *one;

	if (m->count == METRICS_MAX)
		return diag_fail(diag, EINVAL, "more than %d metrics", METRICS_MAX);
	int r = metric_new(text, &one, diag);
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

static int bind_all(const struct metrics *m, const struct query *q, const uint64_t *totals,
		    bool lenient, struct metrics_bound *ret, struct diag *diag)
{
	struct metrics_bound bound = {.metrics = m};
	int r = 0;

	for (size_t i = 0; i < m->count && !r; i++) {
		r = metric_bind(m->list[i], q, &bound.events[i], diag);
		bound.no_event[i] = lenient && r == -ENOENT;
		if (!r)
			metric_add(m->list[i], &bound.events[i], totals, &bound.all[i]);
		else if (bound.no_event[i])
			r = 0;
	}
	if (!r)
		*ret = bound;
	return r;
}

int metrics_bind(const struct metrics *m, const struct query *q, const uint64_t *totals,
		 struct metrics_bound *ret, struct diag *diag)
{
	return bind_all(m, q, totals, false, ret, diag);
}

int metrics_bind_known(const struct metrics *m, const struct query *q, const uint64_t *totals,
		       struct metrics_bound *ret, struct diag *diag)
{
	return bind_all(m, q, totals, true, ret, diag);
}

static size_t count_of(const struct metrics_bound *b)
{
	return b->metrics ? b->metrics->count : 0;
}

bool metrics_value(const struct metrics_bound *b, size_t which, const uint64_t *counts, double *ret)
{
	const struct metric *m = b->metrics->list[which];
	struct metric_sums sums = {0};

	if (b->no_event[which])
		return false;
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

json_t *metrics_json(const struct metrics_bound *b, const uint64_t *counts)
{
	json_t *object = json_object();
	double value;

	for (size_t i = 0; i < count_of(b); i++) {
		json_t *key = report_json_text(metric_name(b->metrics->list[i]));

		json_object_set_new(object, json_string_value(key),
				    metrics_value(b, i, counts, &value) ? report_json_number(value)
									: json_null());
		json_decref(key);
	}
	return object;
}

void metrics_write(const struct metrics_bound *b, const uint64_t *counts, struct buf *to)
{
	char text[64];
	double value;

	for (size_t i = 0; i < count_of(b); i++) {
		if (metrics_value(b, i, counts, &value))
			table_format_value(value, text, sizeof(text));
		else
			strcpy(text, "none");
		buf_printf(to, "%s%s %s", i ? ", " : "", metric_name(b->metrics->list[i]), text);
	}
}

void metrics_count_function(const struct query_part *part, const struct cfg_function *function,
			    uint64_t *counts)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		query_part_count(part, function->ranges[i].start, function->ranges[i].end, counts);
}

void metrics_set_function(struct metrics_bound *b, struct table *t, const struct query_part *part,
			  const struct cfg_function *function)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};

	if (count_of(b))
		metrics_count_function(part, function, counts);
	metrics_set(b, t, counts);
}

void metrics_describe(const struct metrics_bound *b, const char *of, struct report_header *h)
{
	for (size_t i = 0; i < count_of(b); i++) {
		const struct metric *m = b->metrics->list[i];
		struct report_metric to = {
			.name = metric_name(m),
			.formula = metric_formula(m),
			.of = of,
			.undefined = b->undefined[i],
			.cells = b->cells[i],
		};

		to.known = !b->no_event[i] && metric_value(m, &b->all[i], &b->all[i], &to.value);
		report_header_metric(h, &to);
	}
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/stats_metrics.h"

#include <errno.h>
#include <stdlib.h>

/* One metric of one row. */
struct cell {
	struct metric_sums set, sum; /* of the set at hand, of those that are through */
	double least, most;
	bool known; /* least and most */
};

struct stats_metrics {
	const struct metrics *metrics;
	struct metrics_bound *sets;
	struct cell *cells; /* row by row */
	size_t set_count, row_count;
	struct metrics_bound together, least, most; /* columns; sums of all sets in the first */
};

int stats_metrics_new(const struct metrics *m, const struct sets *sets, size_t rows,
		      struct stats_metrics **ret, struct diag *diag)
{
	struct stats_metrics *s;
	int r = 0;

	if (m->count && rows > STATS_METRICS_CELLS_MAX / m->count)
		return diag_fail(diag, E2BIG, "too many rows for metrics; select less");
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->metrics = s->together.metrics = s->least.metrics = s->most.metrics = m;
	s->row_count = rows;
	s->sets = calloc(sets->count, sizeof(*s->sets));
	s->cells = calloc(rows * m->count + 1, sizeof(*s->cells));
	if (!s->sets || !s->cells)
		r = diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < sets->count && !r; i++) {
		const struct set *one = sets->list[i];
		struct diag why = {""};

		r = metrics_bind(m, one->session.query, one->rank->totals, &s->sets[i], &why);
		if (r)
			r = diag_fail(diag, -r, "set '%s': %s", one->name, why.text);
		for (size_t k = 0; k < m->count && !r; k++)
			metric_add(m->list[k], &s->sets[i].events[k], one->rank->totals,
				   &s->together.all[k]);
	}
	if (r)
		stats_metrics_free(s);
	else
		*ret = s;
	return r;
}

void stats_metrics_free(struct stats_metrics *s)
{
	if (!s)
		return;
	free(s->sets);
	free(s->cells);
	free(s);
}

void stats_metrics_add(struct stats_metrics *s, size_t set, size_t row, const uint64_t *counts)
{
	for (size_t i = 0; i < s->metrics->count; i++) {
		struct cell *c = &s->cells[row * s->metrics->count + i];

		metric_add(s->metrics->list[i], &s->sets[set].events[i], counts, &c->set);
		metric_add(s->metrics->list[i], &s->sets[set].events[i], counts, &c->sum);
	}
}

void stats_metrics_end_set(struct stats_metrics *s, size_t set)
{
	size_t metrics = s->metrics->count;
	double value;

	for (size_t i = 0; i < s->row_count * metrics; i++) {
		struct cell *c = &s->cells[i];

		if (metric_value(s->metrics->list[i % metrics], &c->set,
				 &s->sets[set].all[i % metrics], &value)) {
			c->least = !c->known || value < c->least ? value : c->least;
			c->most = !c->known || value > c->most ? value : c->most;
			c->known = true;
		}
		c->set = (struct metric_sums){0};
	}
}

void stats_metrics_add_columns(struct stats_metrics *s, struct table *t)
{
	metrics_add_columns(&s->together, t, "metrics", "");
	metrics_add_columns(&s->least, t, "metrics_min", " min");
	metrics_add_columns(&s->most, t, "metrics_max", " max");
}

void stats_metrics_set(struct stats_metrics *s, struct table *t, size_t row)
{
	double value;

	for (size_t i = 0; i < s->metrics->count; i++) {
		const struct cell *c = &s->cells[row * s->metrics->count + i];

		s->together.cells[i]++;
		if (metric_value(s->metrics->list[i], &c->sum, &s->together.all[i], &value))
			table_set_real(t, s->together.column + (int)i, value);
		else
			s->together.undefined[i]++;
		if (!c->known)
			continue;
		table_set_real(t, s->least.column + (int)i, c->least);
		table_set_real(t, s->most.column + (int)i, c->most);
	}
}

void stats_metrics_describe(const struct stats_metrics *s, struct report_header *h)
{
	metrics_describe(&s->together, "all sets", h);
}

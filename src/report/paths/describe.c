/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "report/describe.h"
#include "report/paths/paths_state.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

/* What table 4 has of each class of paths, and table 5 of each class of procedures. */
struct class_sums {
	size_t count, paths;
	double value, base;
};

static void add_to(struct class_sums *sums, const struct path_weight *w, enum path_metric by,
		   size_t paths)
{
	struct class_sums *c = &sums[w->class];

	c->count++;
	c->paths += paths;
	c->value += w->metrics[by];
	c->base += w->metrics[path_metric_base(by)];
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void describe_paths(const struct paths_report *r, const struct paths_options *o,
			   const struct class_sums *sums, const struct path_weight *all,
			   struct report_header *h)
{
	const enum path_metric base = path_metric_base(r->by);
	const char *metric = path_metric_name(r->by), *of = path_metric_name(base);

	report_header_note(
		h,
		"paths: hot: at least %.3g%% of the %s; %zu dense: %.1f%% of the %s, %.1f%% of the "
		"%s; %zu sparse: %.1f%%, %.1f%%; %zu cold: %.1f%%, %.1f%%",
		o->hot_percent, metric, sums[PATH_DENSE].count,
		percent(sums[PATH_DENSE].base, all->metrics[base]), of,
		percent(sums[PATH_DENSE].value, all->metrics[r->by]), metric,
		sums[PATH_SPARSE].count, percent(sums[PATH_SPARSE].base, all->metrics[base]),
		percent(sums[PATH_SPARSE].value, all->metrics[r->by]), sums[PATH_COLD].count,
		percent(sums[PATH_COLD].base, all->metrics[base]),
		percent(sums[PATH_COLD].value, all->metrics[r->by]));
}

static double each(const struct class_sums *c)
{
	return c->count ? (double)c->paths / (double)c->count : 0;
}

static void describe_procedures(const struct paths_report *r, struct report_header *h)
{
	const double all = r->weights.total.metrics[r->by];
	struct class_sums sums[PATH_CLASSES] = {0};

	for (size_t i = 0; i < r->tally.function_count; i++)
		add_to(sums, &r->weights.functions[i], r->by, r->tally.functions[i].count);
	report_header_note(
		h,
		"procedures: %zu dense, of %.1f paths each: %.1f%% of the %s; %zu sparse, of %.1f: "
		"%.1f%%; %zu cold, of %.1f: %.1f%%",
		sums[PATH_DENSE].count, each(&sums[PATH_DENSE]),
		percent(sums[PATH_DENSE].value, all), path_metric_name(r->by),
		sums[PATH_SPARSE].count, each(&sums[PATH_SPARSE]),
		percent(sums[PATH_SPARSE].value, all), sums[PATH_COLD].count,
		each(&sums[PATH_COLD]), percent(sums[PATH_COLD].value, all));
}

static int compare_values(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return NUM_ORDER(*b, *a);
}

/* How many paths, the most costly first, have a share of the metric together. */
static size_t count_covering(const double *values, size_t count, double all, double share)
{
	double sum = 0;
	size_t n = 0;

	while (n < count && sum < share * all)
		sum += values[n++];
	return n;
}

static void describe_cover(const struct paths_report *r, size_t first, size_t count, double all,
			   struct report_header *h)
{
	double *values = calloc(count + 1, sizeof(*values));

	if (!values || all <= 0) {
		free(values);
		return;
	}
	for (size_t i = 0; i < count; i++)
		values[i] = r->weights.rows[first + i].metrics[r->by];
	array_sort(values, count, sizeof(*values), compare_values);
	report_header_note(
		h, "%zu of %zu %s 90%% of the %s, %zu 99%%",
		count_covering(values, count, all, 0.9), count,
		text_plural(count, "path that was run covers", "paths that were run cover"),
		path_metric_name(r->by), count_covering(values, count, all, 0.99));
	free(values);
}

/* What executions cannot tell. */
static void describe_limits(const struct paths_report *r, struct report_header *h)
{
	const struct path_tally *t = &r->tally;

	if (t->refused)
		report_header_note(h, "%llu %s of paths past the %uth left out",
				   TEXT_COUNT(t->refused, "execution is", "executions are"),
				   PATH_TALLY_ROWS_MAX);
	if (r->weights.without_code)
		report_header_note(
			h, "%zu %s no code at hand: no instructions, samples or lines",
			r->weights.without_code,
			text_plural(r->weights.without_code, "function has", "functions have"));
	if (r->by == PATH_TIME)
		report_header_note(
			h,
			"time: of %llu executions that were timed, without calls of "
			"counted functions; %llu %s of paths that never were",
			(unsigned long long)t->timed,
			TEXT_COUNT(r->weights.untimed, "execution is", "executions are"));
	if (r->by == PATH_SAMPLES)
		report_header_note(h, "samples of an instruction are shared among the paths "
				      "through it by how often they ran");
}

void paths_describe(const struct paths_report *r, const struct paths_options *o, size_t of,
		    struct report_header *h)
{
	const bool whole = of == PATHS_ALL;
	const struct path_function *f = whole ? NULL : &r->tally.functions[of];
	const struct path_weight *all = whole ? &r->weights.total : &r->weights.functions[of];
	const size_t first = whole ? 0 : f->first, count = whole ? r->tally.row_count : f->count;
	struct class_sums sums[PATH_CLASSES] = {0};

	for (size_t i = 0; i < count; i++)
		add_to(sums, &r->weights.rows[first + i], r->by, 1);
	if (whole)
		report_header_note(h, "%llu %s of %zu %s of %zu %s",
				   TEXT_COUNT(r->tally.executions, "execution", "executions"),
				   count, text_plural(count, "path", "paths"),
				   r->tally.function_count,
				   text_plural(r->tally.function_count, "function", "functions"));
	else
		report_header_note(h, "0x%llx: %llu %s of %zu %s; %.1f%% of the %s of all paths",
				   (unsigned long long)f->entry,
				   TEXT_COUNT(f->executions, "execution", "executions"), count,
				   text_plural(count, "path", "paths"),
				   percent(all->metrics[r->by], r->weights.total.metrics[r->by]),
				   path_metric_name(r->by));
	describe_cover(r, first, count, all->metrics[r->by], h);
	describe_paths(r, o, sums, all, h);
	if (whole)
		describe_procedures(r, h);
	describe_limits(r, h);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/describe.h"
#include "report/paths/paths_state.h"
#include "util/array.h"
#include "util/num.h"

struct ranked {
	double value;
	size_t row, function;
};

struct ranking {
	const struct paths_report *report;
	const struct paths_options *options;
	double all; /* that percentages are of */
	struct ranked *list;
	size_t count;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return NUM_ORDER(b->value, a->value) ?: NUM_ORDER(a->row, b->row);
}

/* The hot ones, the most costly first. */
static int rank_paths(struct ranking *k, size_t of)
{
	const struct paths_report *r = k->report;

	k->list = calloc(r->tally.row_count + 1, sizeof(*k->list));
	if (!k->list)
		return -ENOMEM;
	for (size_t f = 0; f < r->tally.function_count; f++) {
		const struct path_function *pf = &r->tally.functions[f];

		for (size_t i = pf->first;
		     (of == PATHS_ALL || of == f) && i < pf->first + pf->count; i++)
			if (r->weights.rows[i].class != PATH_COLD)
				k->list[k->count++] =
					(struct ranked){r->weights.rows[i].metrics[r->by], i, f};
	}
	array_sort(k->list, k->count, sizeof(*k->list), compare_ranked);
	if (k->count > k->options->limit)
		k->count = k->options->limit;
	return 0;
}

struct columns {
	int percent, cumulative, count, timed, instructions, time, samples, each, ratio, class,
		number, function, lines, branches, path, image, build_id;
};

static void add_columns(const struct paths_report *r, struct table *t, bool one, struct columns *c)
{
	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->cumulative = table_add_column(t, TABLE_PERCENT, "cumulative_percent", "cum%");
	c->count = table_add_column(t, TABLE_COUNT, "count", "executions");
	c->timed = table_add_column(t, TABLE_COUNT, "timed", NULL);
	c->instructions = table_add_column(t, TABLE_COUNT, "instructions", "instr.");
	c->time = table_add_column(t, TABLE_VALUE, "time", NULL);
	c->samples = table_add_column(t, TABLE_VALUE, "samples", NULL);
	c->each = table_add_column(t, TABLE_VALUE, "each", r->by == PATH_TIME ? "ns each" : NULL);
	c->ratio = table_add_column(t, TABLE_VALUE, "to_mean", "/ mean");
	c->class = table_add_column(t, TABLE_NAME, "class", "class");
	c->number = table_add_column(t, TABLE_COUNT, "number", "path");
	c->function = table_add_column(t, TABLE_NAME, "function", one ? NULL : "function");
	c->lines = table_add_column(t, TABLE_NAME, "lines", "lines");
	c->branches = table_add_column(t, TABLE_NAME, "branches", one ? "branches" : NULL);
	c->path = table_add_column(t, TABLE_NAME, "path", NULL);
	c->image = table_add_column(t, TABLE_NAME, "image", one ? NULL : "image");
	c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	table_set_spare(t, c->cumulative, 1);
	table_set_spare(t, c->image, 2);
	table_set_spare(t, c->ratio, 3);
}

static void set_image(const struct paths_report *r, struct table *t, const struct columns *c,
		      size_t function)
{
	const struct path_image *image = &r->tally.images[r->tally.functions[function].image];
	const struct query_image shown = {image->id, image->path, strlen(image->path)};

	report_set_image(t, c->image, c->build_id, &shown);
	table_set_text(t, c->function, r->names[function] ? r->names[function] : RANK_NO_SYMBOL);
}

/* What an execution costs, and beside the mean of all of its function. */
static void set_cost(const struct paths_report *r, struct table *t, const struct columns *c,
		     const struct path_weight *w, const struct path_weight *function)
{
	const double executions = w->metrics[PATH_EXECUTIONS],
		     mean = function->metrics[r->by] / function->metrics[PATH_EXECUTIONS];

	if (r->weights.has[PATH_TIME])
		table_set_real(t, c->time, w->metrics[PATH_TIME]);
	if (r->weights.has[PATH_SAMPLES])
		table_set_real(t, c->samples, w->metrics[PATH_SAMPLES]);
	table_set_real(t, c->each, w->metrics[r->by] / executions);
	if (mean > 0)
		table_set_real(t, c->ratio, w->metrics[r->by] / executions / mean);
	table_set_text(t, c->class, path_class_name(w->class));
}

static void add_path(const struct ranking *k, struct table *t, const struct columns *c,
		     const struct ranked *one, const struct path_way *way, double *sum)
{
	const struct paths_report *r = k->report;
	const struct path_weight *w = &r->weights.rows[one->row];
	const struct db_path_item *p = &r->tally.rows[one->row];

	*sum += one->value;
	table_add_row(t);
	table_set_real(t, c->percent, k->all > 0 ? 100 * one->value / k->all : 0);
	table_set_real(t, c->cumulative, k->all > 0 ? 100 * *sum / k->all : 0);
	table_set_count(t, c->count, p->count);
	table_set_count(t, c->timed, p->timed);
	table_set_count(t, c->instructions, w->instructions);
	set_cost(r, t, c, w, &r->weights.functions[one->function]);
	table_set_count(t, c->number, one->row - r->tally.functions[one->function].first + 1);
	set_image(r, t, c, one->function);
	table_set_buf(t, c->lines, &way->lines);
	table_set_buf(t, c->branches, &way->branches);
	table_set_buf(t, c->path, &way->blocks);
}

static int make_table(struct report_session *s, const struct paths_options *o,
		      struct paths_report *r, size_t of)
{
	struct ranking k = {.report = r,
			    .options = o,
			    .all = of == PATHS_ALL ? r->weights.total.metrics[r->by]
						   : r->weights.functions[of].metrics[r->by]};
	size_t *rows = NULL;
	struct path_way *ways = NULL;
	struct columns c;
	double sum = 0;
	int err = rank_paths(&k, of);

	if (!err) {
		rows = calloc(k.count + 1, sizeof(*rows));
		ways = calloc(k.count + 1, sizeof(*ways));
		err = rows && ways ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < k.count && !err; i++)
		rows[i] = k.list[i].row;
	err = err ?: paths_find_ways(s, &r->tally, rows, k.count, ways);
	if (!err) {
		r->table = table_new("paths");
		add_columns(r, r->table, of != PATHS_ALL, &c);
		for (size_t i = 0; i < k.count; i++)
			add_path(&k, r->table, &c, &k.list[i], &ways[i], &sum);
	}
	for (size_t i = 0; ways && i < k.count; i++)
		path_way_free(&ways[i]);
	free(ways);
	free(rows);
	free(k.list);
	return err;
}

/* Table 5: which functions, and of how many paths. */
static int make_procedures(const struct paths_options *o, struct paths_report *r)
{
	struct columns c = {.cumulative = -1, .timed = -1, .number = -1, .lines = -1};
	const size_t count = r->tally.function_count;
	struct ranked *list = calloc(count + 1, sizeof(*list));
	struct table *t = r->table = table_new("paths");
	const double all = r->weights.total.metrics[r->by];

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){r->weights.functions[i].metrics[r->by], i, i};
	array_sort(list, count, sizeof(*list), compare_ranked);
	c.percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c.count = table_add_column(t, TABLE_COUNT, "count", "executions");
	int paths = table_add_column(t, TABLE_COUNT, "paths", "paths");
	int hot = table_add_column(t, TABLE_COUNT, "hot_paths", "hot");
	c.time = table_add_column(t, TABLE_VALUE, "time", NULL);
	c.samples = table_add_column(t, TABLE_VALUE, "samples", NULL);
	c.each = table_add_column(t, TABLE_VALUE, "each", r->by == PATH_TIME ? "ns each" : NULL);
	c.ratio = -1;
	c.class = table_add_column(t, TABLE_NAME, "class", "class");
	c.function = table_add_column(t, TABLE_NAME, "function", "function");
	c.image = table_add_column(t, TABLE_NAME, "image", "image");
	c.build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	table_set_spare(t, c.image, 1);
	for (size_t i = 0; i < count && i < o->limit; i++) {
		const struct path_function *f = &r->tally.functions[list[i].function];
		uint64_t hot_paths = 0;

		for (size_t p = f->first; p < f->first + f->count; p++)
			hot_paths += r->weights.rows[p].class != PATH_COLD;
		table_add_row(t);
		table_set_real(t, c.percent, all > 0 ? 100 * list[i].value / all : 0);
		table_set_count(t, c.count, f->executions);
		table_set_count(t, paths, f->count);
		table_set_count(t, hot, hot_paths);
		set_cost(r, t, &c, &r->weights.functions[list[i].function],
			 &r->weights.functions[list[i].function]);
		set_image(r, t, &c, list[i].function);
	}
	free(list);
	return 0;
}

/* Classes as of the whole, or of one function's paths among themselves. */
static int choose_metric(const struct paths_options *o, struct paths_report *r, size_t of,
			 struct diag *diag)
{
	static const char *const hints[] = {
		[PATH_TIME] = "no execution was timed",
		[PATH_SAMPLES] = "no samples were taken in functions that have paths",
		[PATH_INSTRUCTIONS] = "there is no code at hand",
		[PATH_EXECUTIONS] = "",
	};

	r->by = o->by == PATHS_BY_BEST ? path_weights_best(&r->weights) : (enum path_metric)o->by;
	if (!r->weights.has[r->by])
		return diag_fail(diag, ENODATA, "there is no %s: %s", path_metric_name(r->by),
				 hints[r->by]);
	path_weights_classify(&r->weights, r->by, o->hot_percent,
			      of == PATHS_ALL ? &r->weights.total : &r->weights.functions[of]);
	return 0;
}

static int make_one(struct report_session *s, const struct paths_options *o, struct paths_report *r,
		    size_t of, struct report_header *h, struct diag *diag)
{
	const struct path_function *f = &r->tally.functions[of];
	const size_t row = f->first + o->path - 1;
	int err = paths_check_number(f, o->path, diag);

	if (err)
		return err;
	report_header_note(h, "path %llu of 0x%llx: %llu of its %llu executions",
			   (unsigned long long)o->path, (unsigned long long)f->entry,
			   (unsigned long long)r->tally.rows[row].count,
			   (unsigned long long)f->executions);
	return paths_list_blocks(s, &r->tally, row, &r->table, diag);
}

int paths_make(struct report_session *s, const struct paths_options *o, struct paths_report *ret,
	       struct report_header *h, struct diag *diag)
{
	size_t of = PATHS_ALL;
	int r = paths_read(s, &ret->tally, diag);

	if (r)
		return r;
	r = paths_name_functions(s, ret) ? diag_fail(diag, ENOMEM, "out of memory") : 0;
	if (!r && o->function)
		r = paths_find_function(ret, o->function, &of, diag);
	if (!r && path_weights_new(&ret->tally, s->query, s->finder, &ret->weights))
		r = diag_fail(diag, ENOMEM, "out of memory");
	r = r ?: choose_metric(o, ret, of, diag);
	if (r)
		return r;
	report_describe(h, s);
	if (o->path && of != PATHS_ALL)
		return make_one(s, o, ret, of, h, diag);
	paths_describe(ret, o, of, h);
	r = o->procedures ? make_procedures(o, ret) : make_table(s, o, ret, of);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

void paths_free(struct paths_report *r)
{
	table_free(r->table);
	path_weights_free(&r->weights);
	path_tally_free(&r->tally);
	free(r->names);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/stats_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/compare/stats.h"
#include "report/compare/stats_metrics.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

#define ROWS_MAX (1u << 22)
#define KEY_MAX	 (1u << 20)

/* Rows of all sets that are the same thing, under one number. */
struct join {
	const struct sets *sets;
	enum rank_by by;
	struct stats *stats;
	struct intern *keys;
	struct stats_metrics *metrics;
	const struct rank_row **shown; /* of each row, one set's */
	size_t room;
};

struct columns {
	int range, sum, sum_share, n, mean, deviation, least, most, low, high, sampling, chance,
		adjusted, varies, present, text_chance, text_varies, sets;
	int function, image, file, line, header;
};

static void append_text(struct buf *b, const char *text)
{
	buf_append(b, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* What makes rows of different sets the same: names, so that another build is no other thing. */
static int make_key(const struct rank_row *row, enum rank_by by, struct buf *b)
{
	b->size = 0;
	append_text(b, row->image && row->image->id.kind != IMAGE_UNKNOWN ? row->image->path : "");
	append_text(b, by == RANK_FUNCTION || by == RANK_LOOP ? row->function : NULL);
	append_text(b, row->file);
	buf_append(b, &row->line, sizeof(row->line));
	if (by == RANK_LOOP && row->depth) {
		buf_append(b, &row->image->id, sizeof(row->image->id));
		buf_append(b, &row->header, sizeof(row->header));
	}
	return b->error;
}

static int new_row(struct join *j, const struct rank_row *row, uint32_t number)
{
	long added = stats_add_row(j->stats);

	if (added < 0)
		return (int)added;
	if (array_grow(&j->shown, number, &j->room, sizeof(struct rank_row *), 256))
		return -ENOMEM;
	j->shown[number] = row;
	return 0;
}

static int join_set(struct join *j, size_t set, struct buf *key)
{
	const struct set *one = j->sets->list[set];
	uint32_t number;
	int r = 0;

	stats_set(j->stats, set, &(struct stats_set){one->samples, one->weight});
	for (size_t i = 0; i < one->rank->row_count && !r; i++) {
		const struct rank_row *row = &one->rank->rows[i];

		if (!row->counts[one->event])
			continue;
		r = make_key(row, j->by, key);
		if (!r)
			r = intern_add(j->keys, key->data, key->size, &number);
		if (!r && number == stats_row_count(j->stats))
			r = new_row(j, row, number);
		if (!r)
			stats_count(j->stats, number, set, row->counts[one->event]);
	}
	return r;
}

static int join_sets(struct join *j)
{
	struct buf key;
	int r = stats_new(j->sets->count, &j->stats);

	buf_init(&key, KEY_MAX);
	j->keys = intern_new(ROWS_MAX);
	if (!r && !j->keys)
		r = -ENOMEM;
	for (size_t i = 0; i < j->sets->count && !r; i++)
		r = join_set(j, i, &key);
	buf_free(&key);
	return r;
}

/* Again over all rows, as metrics are of other events too; those that these alone have, no rows. */
static int join_metrics(struct join *j, const struct metrics *m, struct diag *diag)
{
	struct buf key;
	uint32_t number;
	int r = stats_metrics_new(m, j->sets, stats_row_count(j->stats), &j->metrics, diag);

	if (r)
		return r;
	buf_init(&key, KEY_MAX);
	for (size_t i = 0; i < j->sets->count && m->count; i++) {
		const struct rank *k = j->sets->list[i]->rank;

		for (size_t n = 0; n < k->row_count; n++)
			if (!make_key(&k->rows[n], j->by, &key) &&
			    !intern_find(j->keys, key.data, key.size, &number))
				stats_metrics_add(j->metrics, i, number, k->rows[n].counts);
		stats_metrics_end_set(j->metrics, i);
	}
	buf_free(&key);
	return 0;
}

static void join_free(struct join *j)
{
	stats_free(j->stats);
	stats_metrics_free(j->metrics);
	intern_free(j->keys);
	free(j->shown);
}

struct order {
	const struct join *join;
	enum stats_sort sort;
};

static int compare_real(double a, double b)
{
	return NUM_ORDER(b, a);
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_names(const struct rank_row *a, const struct rank_row *b)
{
	int d = compare_text(a->function, b->function);

	if (!d)
		d = compare_text(a->file, b->file);
	if (!d)
		d = NUM_ORDER(a->line, b->line);
	if (!d)
		d = compare_text(a->image ? a->image->path : NULL,
				 b->image ? b->image->path : NULL);
	return d ? d : NUM_ORDER(a->header, b->header);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	size_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	const struct stats_row *a = stats_row_at(o->join->stats, i);
	const struct stats_row *b = stats_row_at(o->join->stats, j);
	int d = 0;

	if (o->sort == STATS_BY_VARIES)
		d = b->varies - a->varies;
	if (!d && (o->sort == STATS_BY_RANGE || (o->sort == STATS_BY_VARIES && a->varies)))
		d = compare_real(a->range_share, b->range_share);
	else if (o->sort == STATS_BY_MEAN)
		d = compare_real(a->mean, b->mean);
	else if (o->sort == STATS_BY_DEVIATION)
		d = compare_real(a->deviation, b->deviation);
	else if (o->sort == STATS_BY_CHANCE)
		d = compare_real(b->chance, a->chance);
	else if (o->sort == STATS_BY_NAME)
		d = compare_names(o->join->shown[i], o->join->shown[j]);
	d = d ? d : compare_real(a->sum, b->sum);
	d = d ? d : compare_names(o->join->shown[i], o->join->shown[j]);
	return d ? d : NUM_ORDER(i, j);
}

static void add_columns(struct table *t, const struct join *j, struct columns *c)
{
	char name[24];

	c->range = table_add_column(t, TABLE_PERCENT, "range_percent", "range%");
	c->sum = table_add_column(t, TABLE_REAL, "sum", "sum");
	c->sum_share = table_add_column(t, TABLE_PERCENT, "sum_percent", "sum%");
	c->n = table_add_column(t, TABLE_COUNT, "n", "N");
	c->mean = table_add_column(t, TABLE_REAL, "mean", "mean");
	c->deviation = table_add_column(t, TABLE_REAL, "std_dev", "std-dev");
	c->least = table_add_column(t, TABLE_REAL, "min", "min");
	c->most = table_add_column(t, TABLE_REAL, "max", "max");
	c->low = table_add_column(t, TABLE_REAL, "mean_low", NULL);
	c->high = table_add_column(t, TABLE_REAL, "mean_high", NULL);
	c->sampling = table_add_column(t, TABLE_REAL, "sampling_std_dev", "sampling");
	c->chance = table_add_column(t, TABLE_REAL, "chance", NULL);
	c->adjusted = table_add_column(t, TABLE_REAL, "adjusted_chance", NULL);
	c->text_chance = table_add_text_column(t, NULL, "chance");
	c->varies = table_add_column(t, TABLE_COUNT, "varies", NULL);
	c->text_varies = table_add_text_column(t, NULL, "varies");
	c->present = table_add_column(t, TABLE_COUNT, "present", NULL);
	stats_metrics_add_columns(j->metrics, t);
	c->function = c->file = c->line = c->header = -1;
	if (j->by == RANK_LOOP)
		c->header = table_add_column(t, TABLE_ADDRESS, "header", "header");
	if (j->by == RANK_FUNCTION || j->by == RANK_LINE || j->by == RANK_LOOP)
		c->function = table_add_column(t, TABLE_NAME, "function", "function");
	if (j->by == RANK_FILE || j->by == RANK_LINE || j->by == RANK_LOOP)
		c->file = table_add_column(t, TABLE_NAME, "file", "file");
	if (j->by == RANK_LINE || j->by == RANK_LOOP)
		c->line = table_add_column(t, TABLE_COUNT, "line", "line");
	c->image = table_add_column(t, TABLE_NAME, "image", "image");
	if (j->by != RANK_IMAGE)
		table_set_spare(t, c->image, 1);
	table_set_spare(t, c->sampling, 2);
	table_set_spare(t, c->text_chance, 3);
	table_set_spare(t, c->sum_share, 4);
	table_set_spare(t, c->header, 5);
	table_set_spare(t, c->n, 6);
	table_set_spare(t, c->sum, 7);
	table_set_spare(t, c->range, 8);
	c->sets = c->image + 1;
	for (size_t i = 0; i < j->sets->count; i++) {
		snprintf(name, sizeof(name), "%zu", i + 1);
		table_add_group_column(t, TABLE_COUNT, "sets", name, NULL);
	}
}

static void set_names(struct table *t, const struct columns *c, const struct rank_row *row)
{
	bool unknown = row->image && row->image->id.kind == IMAGE_UNKNOWN;

	table_set_text(t, c->function, row->function);
	table_set_text(t, c->file, row->file);
	if (row->line)
		table_set_count(t, c->line, row->line);
	if (row->depth)
		table_set_address(t, c->header, row->header);
	if (row->image)
		table_set_text(t, c->image, unknown ? RANK_UNKNOWN : row->image->path);
}

static void set_verdict(struct table *t, const struct columns *c, const struct stats_row *row)
{
	char text[32];

	snprintf(text, sizeof(text), row->chance < 1e-9 ? "<1e-9" : "%.2g", row->chance);
	table_set_count(t, c->varies, row->varies);
	table_set_text(t, c->text_chance, text);
	table_set_text(t, c->text_varies, row->varies ? "yes" : "");
}

static void fill_row(struct table *t, const struct columns *c, const struct join *j, size_t number)
{
	const struct stats_row *row = stats_row_at(j->stats, number);

	table_add_row(t);
	table_set_real(t, c->range, 100 * row->range_share);
	table_set_real(t, c->sum, row->sum);
	table_set_real(t, c->sum_share, 100 * row->sum_share);
	table_set_count(t, c->n, j->sets->count);
	table_set_real(t, c->mean, row->mean);
	table_set_real(t, c->deviation, row->deviation);
	table_set_real(t, c->least, row->least);
	table_set_real(t, c->most, row->most);
	table_set_real(t, c->low, row->low);
	table_set_real(t, c->high, row->high);
	table_set_real(t, c->sampling, row->sampling);
	table_set_real(t, c->chance, row->chance);
	table_set_real(t, c->adjusted, row->adjusted);
	table_set_count(t, c->present, row->present);
	for (size_t i = 0; i < j->sets->count; i++)
		table_set_count(t, c->sets + (int)i, stats_count_of(j->stats, number, i));
	stats_metrics_set(j->metrics, t, number);
	set_verdict(t, c, row);
	set_names(t, c, j->shown[number]);
}

static void note_test(const struct stats_table *p, const struct join *j, size_t limit,
		      struct report_header *h)
{
	size_t count = stats_row_count(j->stats), varying = 0;

	for (size_t i = 0; i < count; i++)
		varying += stats_row_at(j->stats, i)->varies;
	report_header_note(h,
			   "%zu of %zu %s %s by more than sampling explains; at most %g%% of "
			   "them are expected to be false alarms",
			   varying, count, text_plural(count, "row", "rows"),
			   text_plural(varying, "varies", "vary"), 100 * p->false_alarms);
	if (limit < count)
		report_header_note(h, "%zu more %s not shown", count - limit,
				   text_plural(count - limit, "row is", "rows are"));
}

static int fill(const struct stats_table *p, const struct join *j, struct report_header *h,
		struct table *t)
{
	struct order order = {j, p->sort};
	size_t count = stats_row_count(j->stats), limit = count;
	uint32_t *list = reallocarray(NULL, count + 1, sizeof(*list));
	struct columns c;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (uint32_t)i;
	qsort_r(list, count, sizeof(*list), compare_rows, &order);
	if (p->limit && p->limit < limit)
		limit = (size_t)p->limit;
	note_test(p, j, limit, h);
	add_columns(t, j, &c);
	for (size_t i = 0; i < limit; i++)
		fill_row(t, &c, j, list[i]);
	free(list);
	stats_metrics_describe(j->metrics, h);
	return 0;
}

int stats_table_make(const struct stats_table *p, const struct sets *sets, enum rank_by by,
		     struct report_header *h, struct table **ret, struct diag *diag)
{
	struct join j = {.sets = sets, .by = by};
	int r = join_sets(&j);

	*ret = table_new("stats");
	if (!r)
		r = stats_finish(j.stats, p->shares, p->false_alarms);
	if (r)
		diag_fail(diag, -r, "%s",
			  r == -ENOMEM ? "out of memory"
				       : "the report has too many rows; select less");
	if (!r)
		r = join_metrics(&j, &p->metrics, diag);
	if (!r && fill(p, &j, h, *ret))
		r = diag_fail(diag, ENOMEM, "out of memory");
	join_free(&j);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/diff_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "render/estimate.h"
#include "report/describe.h"
#include "util/num.h"
#include "util/text.h"

#define NAMES_MAX_BYTES ((size_t)1 << 20) /* of two functions */

struct columns {
	int samples[2], percent[2], delta, points, ratio, chance, adjusted, changed, how,
		similarity;
	int text_chance, text_changed, text_match;
	int address[2], function, text_function, was, file, line, line_was, image, image_was;
	int cpi[2], calls[2], cause, cause_share[2];
};

/* What a function costs on one side. */
struct cost {
	bool known;
	struct frequency_estimate cpi, calls;
	double samples;
	double cause[CULPRIT_CAUSES];
};

struct fill {
	const struct diff_table *options;
	const struct sets *sets;
	struct table *table;
	struct columns columns;
	struct metrics_bound metrics[2];
};

static double weighed(const struct sets *sets, const struct diff_row *row, int side)
{
	return (double)row->count[side] * sets->list[side]->weight;
}

static double delta_of(const struct sets *sets, const struct diff_row *row)
{
	return weighed(sets, row, 1) - weighed(sets, row, 0);
}

/* B over A; of what is new, infinite. */
static double ratio_of(const struct sets *sets, const struct diff_row *row)
{
	double a = weighed(sets, row, 0);

	return a > 0 ? weighed(sets, row, 1) / a : INFINITY;
}

static double share_of(const struct sets *sets, const struct diff_row *row, int side)
{
	double all = (double)sets->list[side]->samples;

	return all > 0 ? 100 * (double)row->count[side] / all : 0;
}

/* The newer side's row, or the only one. */
static const struct rank_row *shown_row(const struct diff_row *row)
{
	return row->pair->row[1] ? row->pair->row[1] : row->pair->row[0];
}

static const char *image_path(const struct rank_row *row)
{
	if (!row || !row->image)
		return NULL;
	return row->image->id.kind == IMAGE_UNKNOWN ? RANK_UNKNOWN : row->image->path;
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_names(const struct diff_row *x, const struct diff_row *y)
{
	const struct rank_row *a = shown_row(x), *b = shown_row(y);
	int d = compare_text(a->function, b->function);

	d = d ? d : compare_text(a->file, b->file);
	d = d ? d : NUM_ORDER(a->line, b->line);
	d = d ? d : compare_text(image_path(a), image_path(b));
	d = d ? d : NUM_ORDER(a->start, b->start);
	for (int s = 1; s >= 0 && !d; s--)
		d = NUM_ORDER(x->address[s], y->address[s]);
	return d;
}

struct order {
	const struct sets *sets;
	enum diff_sort sort;
};

static int falling(double a, double b)
{
	return NUM_ORDER(b, a);
}

static int compare_rows(const void *p, const void *q, void *arg)
{
	const struct diff_row *a = p, *b = q;
	const struct order *o = arg;
	int d = 0;

	switch (o->sort) {
	case DIFF_BY_CHANGE:
		d = b->stats->varies - a->stats->varies;
		if (!d && !a->stats->varies)
			d = falling(a->stats->sum, b->stats->sum);
		break;
	case DIFF_BY_A:
	case DIFF_BY_B:
		d = falling((double)a->count[o->sort == DIFF_BY_B],
			    (double)b->count[o->sort == DIFF_BY_B]);
		break;
	case DIFF_BY_RATIO:
		d = falling(ratio_of(o->sets, a), ratio_of(o->sets, b));
		break;
	case DIFF_BY_CHANCE:
		d = falling(b->stats->chance, a->stats->chance);
		break;
	case DIFF_BY_NAME:
		d = compare_names(a, b);
		break;
	case DIFF_BY_DELTA:
		break;
	}
	d = d ? d : falling(fabs(delta_of(o->sets, a)), fabs(delta_of(o->sets, b)));
	return d ? d : compare_names(a, b);
}

static void add_cost_columns(struct table *t, struct columns *c)
{
	c->cpi[0] = table_add_estimate(t, "cpi_a", "CPI A", "(90%)", 1);
	c->cpi[1] = table_add_estimate(t, "cpi_b", "CPI B", "(90%)", 1);
	c->calls[0] = table_add_estimate(t, "calls_a", "calls A", "(90%)", 1);
	c->calls[1] = table_add_estimate(t, "calls_b", "calls B", "(90%)", 1);
	c->cause = table_add_text_column(t, "cause", "most changed stall");
	c->cause_share[0] = table_add_column(t, TABLE_PERCENT, "cause_percent_a", "A%");
	c->cause_share[1] = table_add_column(t, TABLE_PERCENT, "cause_percent_b", "B%");
	for (int s = 0; s < 2; s++) {
		table_set_spare(t, c->cpi[s], 0);
		table_set_spare(t, c->cause_share[s], 2);
	}
	table_set_spare(t, c->cause, 7);
}

static void add_columns(struct fill *f)
{
	enum diff_by by = f->options->by;
	struct columns *c = &f->columns;
	struct table *t = f->table;

	c->samples[0] = table_add_column(t, TABLE_COUNT, "samples_a", "A");
	c->samples[1] = table_add_column(t, TABLE_COUNT, "samples_b", "B");
	c->percent[0] = table_add_column(t, TABLE_PERCENT, "percent_a", "A%");
	c->percent[1] = table_add_column(t, TABLE_PERCENT, "percent_b", "B%");
	c->points = table_add_column(t, TABLE_PERCENT, "points", NULL);
	c->delta = table_add_column(t, TABLE_REAL, "delta", "delta");
	c->ratio = table_add_column(t, TABLE_PERCENT, "change_percent", "change%");
	c->chance = table_add_column(t, TABLE_REAL, "chance", NULL);
	c->adjusted = table_add_column(t, TABLE_REAL, "adjusted_chance", NULL);
	c->text_chance = table_add_text_column(t, NULL, "chance");
	c->changed = table_add_column(t, TABLE_COUNT, "changed", NULL);
	c->text_changed = table_add_text_column(t, NULL, "changed");
	c->how = table_add_text_column(t, "match", NULL);
	c->similarity = table_add_column(t, TABLE_PERCENT, "similarity", NULL);
	c->text_match = table_add_text_column(t, NULL, "match");
	metrics_add_columns(&f->metrics[0], t, "metrics_a", " A");
	metrics_add_columns(&f->metrics[1], t, "metrics_b", " B");
	if (f->options->insights[0])
		add_cost_columns(t, c);
	if (by == DIFF_BLOCK || by == DIFF_INSTRUCTION) {
		c->address[0] = table_add_column(t, TABLE_ADDRESS, "address_a", "address A");
		c->address[1] = table_add_column(t, TABLE_ADDRESS, "address_b", "address B");
		table_set_spare(t, c->address[0], 6);
	}
	c->function = c->text_function = c->file = c->line = -1;
	if (by != DIFF_IMAGE && by != DIFF_FILE) {
		c->function = table_add_column(t, TABLE_NAME, "function", NULL);
		c->text_function = table_add_column(t, TABLE_NAME, NULL, "function");
	}
	c->was = table_add_column(t, TABLE_NAME, "function_a", NULL);
	if (by == DIFF_FILE || by == DIFF_LINE)
		c->file = table_add_column(t, TABLE_NAME, "file", "file");
	if (by == DIFF_LINE)
		c->line = table_add_column(t, TABLE_COUNT, "line", "line");
	c->line_was = table_add_column(t, TABLE_COUNT, by == DIFF_LINE ? "line_a" : NULL, NULL);
	c->image = table_add_column(t, TABLE_NAME, "image", "image");
	table_set_spare(t, c->delta, 1);
	if (by != DIFF_IMAGE)
		table_set_spare(t, c->image, 2);
	table_set_spare(t, c->percent[0], 3);
	table_set_spare(t, c->percent[1], 3);
	table_set_spare(t, c->text_match, 4);
	table_set_spare(t, c->text_chance, 5);
	c->image_was = table_add_column(t, TABLE_NAME, "image_a", NULL);
}

/* "same", "name 87%", "new": how, and how well it was matched. */
static void set_match(struct fill *f, const struct diff_row *row)
{
	const struct match_pair *pair = row->pair;
	const char *how = !pair->row[0]	  ? "new"
			  : !pair->row[1] ? "gone"
					  : match_how_name(pair->how);
	char text[32];

	if (pair->similarity < 0 || pair->how == MATCH_SAME) {
		snprintf(text, sizeof(text), "%s", how);
	} else {
		table_set_real(f->table, f->columns.similarity, 100 * pair->similarity);
		snprintf(text, sizeof(text), "%s %.0f%%", how, 100 * pair->similarity);
	}
	table_set_text(f->table, f->columns.how, how);
	table_set_text(f->table, f->columns.text_match, text);
}

static void set_names(struct fill *f, const struct diff_row *row)
{
	const struct columns *c = &f->columns;
	const struct rank_row *old = row->pair->row[0], *now = shown_row(row);
	bool renamed = old && old != now && compare_text(old->function, now->function) != 0;
	struct buf both;

	table_set_text(f->table, c->text_function, now->function);
	if (renamed && !now->file) {
		buf_init(&both, NAMES_MAX_BYTES);
		buf_printf(&both, "%s (was %s)", now->function, old->function);
		table_set_buf(f->table, c->text_function, &both);
		buf_free(&both);
	}
	table_set_text(f->table, c->function, now->function);
	if (old)
		table_set_text(f->table, c->was, old->function);
	table_set_text(f->table, c->file, now->file);
	if (now->line)
		table_set_count(f->table, c->line, now->line);
	if (old && old->line && c->line >= 0)
		table_set_count(f->table, c->line_was, old->line);
	table_set_text(f->table, c->image, image_path(now));
	table_set_text(f->table, c->image_was, image_path(old));
}

static void read_cost(struct insights *all, const struct rank_row *row, struct cost *ret)
{
	struct insight *i;

	*ret = (struct cost){0};
	if (!row || !row->image || !row->size || insight_new(all, row->image, row->start, &i, NULL))
		return;
	ret->known = true;
	ret->cpi = i->cpi;
	ret->calls = i->entries;
	ret->samples = i->summary.samples;
	for (int c = 0; c < CULPRIT_CAUSES; c++)
		ret->cause[c] = i->summary.dynamic[c].likely;
	insight_free(i);
}

/* The cause of stalls whose samples changed most, as shares of each side's function. */
static void set_cost(struct fill *f, const struct diff_row *row)
{
	const struct columns *c = &f->columns;
	double most = 0, change;
	struct cost cost[2];
	int cause = -1;

	for (int s = 0; s < 2; s++) {
		read_cost(f->options->insights[s], row->pair->row[s], &cost[s]);
		if (!cost[s].known)
			continue;
		table_set_estimate(f->table, c->cpi[s], cost[s].cpi.value, cost[s].cpi.low,
				   cost[s].cpi.high);
		table_set_estimate(f->table, c->calls[s], cost[s].calls.value, cost[s].calls.low,
				   cost[s].calls.high);
	}
	for (int i = 0; i < CULPRIT_CAUSES; i++) {
		change = fabs(cost[1].cause[i] * f->sets->list[1]->weight -
			      cost[0].cause[i] * f->sets->list[0]->weight);
		if (change > most) {
			most = change;
			cause = i;
		}
	}
	if (cause < 0)
		return;
	for (int s = 0; s < 2; s++)
		if (cost[s].samples > 0)
			table_set_real(f->table, c->cause_share[s],
				       100 * cost[s].cause[cause] / cost[s].samples);
	table_set_text(f->table, c->cause, culprit_name((enum culprit_cause)cause));
}

/* Of a block or an instruction the samples of all events lie where it is. */
static void set_metrics(struct fill *f, const struct diff_row *row, int side)
{
	const struct rank_row *all = row->pair->row[side];
	uint64_t counts[QUERY_EVENTS_MAX] = {0};

	if (!all || !f->options->metrics.count)
		return;
	if (row->address[0] == ISA_NO_ADDRESS && row->address[1] == ISA_NO_ADDRESS) {
		metrics_set(&f->metrics[side], f->table, all->counts);
	} else if (row->address[side] != ISA_NO_ADDRESS) {
		query_part_count(query_find_part(f->sets->list[side]->session.query, all->image),
				 row->address[side], row->end[side], counts);
		metrics_set(&f->metrics[side], f->table, counts);
	}
}

static void fill_row(struct fill *f, const struct diff_row *row)
{
	const struct columns *c = &f->columns;
	struct table *t = f->table;
	char chance[32];

	table_add_row(t);
	for (int s = 0; s < 2; s++) {
		table_set_count(t, c->samples[s], row->count[s]);
		table_set_real(t, c->percent[s], share_of(f->sets, row, s));
		set_metrics(f, row, s);
		if (row->address[s] != ISA_NO_ADDRESS)
			table_set_address(t, c->address[s], row->address[s]);
	}
	table_set_real(t, c->points, share_of(f->sets, row, 1) - share_of(f->sets, row, 0));
	table_set_real(t, c->delta, delta_of(f->sets, row));
	if (row->count[0])
		table_set_real(t, c->ratio, 100 * (ratio_of(f->sets, row) - 1));
	table_set_real(t, c->chance, row->stats->chance);
	table_set_real(t, c->adjusted, row->stats->adjusted);
	table_set_count(t, c->changed, row->stats->varies);
	snprintf(chance, sizeof(chance), row->stats->chance < 1e-9 ? "<1e-9" : "%.2g",
		 row->stats->chance);
	table_set_text(t, c->text_chance, chance);
	table_set_text(t, c->text_changed, row->stats->varies ? "yes" : "");
	set_match(f, row);
	if (f->options->insights[0])
		set_cost(f, row);
	set_names(f, row);
}

struct sum {
	size_t rows;
	uint64_t count[2];
};

static void note_sum(struct report_header *h, const char *what, const struct sum *s)
{
	if (s->rows)
		report_header_note(h, "%s: %llu %s, %llu %s of A, %llu of B", what,
				   TEXT_COUNT(s->rows, "row", "rows"),
				   TEXT_COUNT(s->count[0], "sample", "samples"),
				   (unsigned long long)s->count[1]);
}

/* Every sample of both sets that was selected is in one of these. */
static void note_totals(const struct fill *f, const struct diff_rows *rows, struct report_header *h)
{
	static const char *const names[] = {"in both", "only in A (gone)", "only in B (new)",
					    "all"};
	struct sum sums[4] = {{0}};
	size_t changed = 0, by_number = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct diff_row *row = &rows->list[i];
		struct sum *s = &sums[!row->pair->row[1] ? 1 : !row->pair->row[0] ? 2 : 0];

		changed += row->stats->varies;
		by_number += row->pair->how == MATCH_NUMBER;
		for (int side = 0; side < 2; side++) {
			s->count[side] += row->count[side];
			sums[3].count[side] += row->count[side];
		}
		s->rows++;
		sums[3].rows++;
	}
	for (size_t i = 0; i < 4; i++)
		note_sum(h, names[i], &sums[i]);
	if (!rows->count)
		report_nothing_matches(h);
	report_header_note(h,
			   "%zu of %zu %s changed by more than sampling explains; at most %g%% "
			   "of them are expected to be false alarms",
			   changed, rows->count, text_plural(rows->count, "row", "rows"),
			   100 * f->options->false_alarms);
	if (rows->match->not_compared)
		report_header_note(
			h, "%llu %s not looked for by code: too many",
			TEXT_COUNT(rows->match->not_compared, "function was", "functions were"));
	if (by_number)
		report_header_note(
			h,
			"%llu %s matched by number alone: no code or checksum of the source tells "
			"whether lines were added above",
			TEXT_COUNT(by_number, "line is", "lines are"));
	if (rows->code && rows->code->without_code)
		report_header_note(h, "%llu %s no code to be aligned by",
				   TEXT_COUNT(rows->code->without_code,
					      "function of another build has",
					      "functions of other builds have"));
	if (rows->code && rows->code->partly_aligned)
		report_header_note(
			h, "%llu %s too long to be aligned in full",
			TEXT_COUNT(rows->code->partly_aligned, "function is", "functions are"));
	if (rows->code && rows->code->without_graphs)
		report_header_note(
			h, "%llu %s no graph: instructions are rows there",
			TEXT_COUNT(rows->code->without_graphs, "function has", "functions have"));
}

static bool is_shown(const struct fill *f, const struct diff_row *row)
{
	if (f->options->changed && !row->stats->varies)
		return false;
	return share_of(f->sets, row, 0) >= f->options->min_percent ||
	       share_of(f->sets, row, 1) >= f->options->min_percent;
}

static void fill(struct fill *f, struct diff_rows *rows, struct report_header *h)
{
	struct order order = {f->sets, f->options->sort};
	struct sum left = {0};
	size_t shown = 0;

	if (rows->count)
		qsort_r(rows->list, rows->count, sizeof(*rows->list), compare_rows, &order);
	add_columns(f);
	for (size_t i = 0; i < rows->count; i++) {
		const struct diff_row *row = &rows->list[i];

		if (is_shown(f, row) && (!f->options->limit || shown < f->options->limit)) {
			fill_row(f, row);
			shown++;
			continue;
		}
		left.rows++;
		for (int s = 0; s < 2; s++)
			left.count[s] += row->count[s];
	}
	note_totals(f, rows, h);
	note_sum(h, "not shown", &left);
	for (int s = 0; s < 2; s++)
		metrics_describe(&f->metrics[s], s ? "B" : "A", h);
}

int diff_table_make(const struct diff_table *p, const struct sets *sets, struct diff_rows *rows,
		    struct report_header *h, struct table **ret, struct diag *diag)
{
	struct fill f = {.options = p, .sets = sets};
	int r = 0;

	f.table = *ret = table_new("diff");
	for (size_t s = 0; s < 2 && !r; s++)
		r = metrics_bind(&p->metrics, sets->list[s]->session.query,
				 sets->list[s]->rank->totals, &f.metrics[s], diag);
	if (!r)
		fill(&f, rows, h);
	return r;
}

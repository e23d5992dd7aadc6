/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/list_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "render/estimate.h"
#include "report/describe.h"
#include "report/estimates.h"
#include "util/num.h"

#define CODE_PERCENT 60 /* of a terminal's width: code is what a listing is read for */

struct columns {
	int age, samples, percent, address, kind, line, text, function, file, image, build_id;
	int events; /* the first of the group */
	int frequency, cpi, confidence;
};

static void add_counts(struct table *t, const struct query *q, struct columns *c)
{
	c->samples = table_add_column(t, TABLE_COUNT, "samples",
				      q->event_count > 1 ? q->events[0].label : "samples");
	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->events = c->percent + 1;
	for (size_t i = 0; i < q->event_count; i++) {
		int count = table_add_group_column(t, TABLE_COUNT, "events", q->events[i].label,
						   i ? q->events[i].label : NULL);

		table_set_spare(t, count, 4);
		if (i)
			table_set_spare(t, table_add_column(t, TABLE_PERCENT, NULL, "%"), 1);
	}
}

/* In text a row without samples has empty cells: the eye shall find those that have some. */
static void set_counts(struct table *t, const struct query *q, const struct columns *c,
		       const uint64_t *counts, const uint64_t *totals, bool zeros)
{
	int column = c->events;

	if (counts[0] || zeros) {
		table_set_count(t, c->samples, counts[0]);
		table_set_real(t, c->percent, table_percent(counts[0], totals[0]));
	}
	for (size_t e = 0; e < q->event_count; e++) {
		int count = column++, percent = e ? column++ : -1;

		if (!counts[e] && !zeros)
			continue;
		table_set_count(t, count, counts[e]);
		if (percent >= 0)
			table_set_real(t, percent, table_percent(counts[e], totals[e]));
	}
}

/* Instructions stand to the right of the source lines that they belong to. */
static void set_instruction(struct table *t, const struct columns *c, const struct listing_row *row,
			    bool indent)
{
	struct buf b;

	table_set_address(t, c->address, row->address);
	if (!row->text)
		return;
	buf_init(&b, 1 << 20);
	buf_printf(&b, "%s%s", indent ? "        " : "", row->text);
	table_set_buf(t, c->text, &b);
	buf_free(&b);
}

static int compare_address(const void *key, const void *element)
{
	uint64_t address = *(const uint64_t *)key;
	const struct insight_instruction *in = element;

	return NUM_ORDER(address, in->address);
}

/* Executions and cycles of an instruction; for people, of one that was seen to run. */
static void set_insight(struct list_table *l, struct table *t, const struct columns *c,
			uint64_t address)
{
	const struct insight *i = l->insight;
	const struct insight_instruction *in = bsearch(
		&address, i->instructions, i->instruction_count, sizeof(*in), compare_address);

	if (!in)
		return;
	const struct frequency_estimate *count = &i->blocks[in->block].count;
	const struct frequency_estimate *cpi = &in->cpi;
	table_set_estimate(t, c->frequency, count->value, count->low, count->high);
	if (cpi->value >= 0.005 || l->format != TABLE_TEXT)
		table_set_estimate(t, c->cpi, cpi->value, cpi->low, cpi->high);
	table_set_text(t, c->confidence, estimates_confidence(count->confidence));
}

static void set_metrics(struct metrics_bound *metrics, const struct query *q, struct table *t,
			const uint64_t *counts, bool zeros)
{
	bool any = zeros;

	for (size_t e = 0; e < q->event_count; e++)
		any |= counts[e] != 0;
	if (any)
		metrics_set(metrics, t, counts);
}

static void add_row(struct list_table *l, struct table *t, const struct columns *c,
		    const struct listing_row *row, bool indent, bool changes_line)
{
	bool source = row->kind == LISTING_SOURCE, for_people = l->format == TABLE_TEXT;

	if (row->kind == LISTING_FILE && !for_people)
		return;
	table_add_row(t);
	if (row->counts) {
		set_counts(t, l->query, c, row->counts, l->hit->counts, !for_people);
		set_metrics(&l->metrics, l->query, t, row->counts, !for_people);
	}
	if (row->kind == LISTING_INSTRUCTION)
		set_instruction(t, c, row, indent && for_people);
	else
		table_set_text(t, c->text, row->text);
	if (l->insight && row->kind == LISTING_INSTRUCTION)
		set_insight(l, t, c, row->address);
	table_set_text(t, c->kind, source ? "source" : "instruction");
	if (row->line && (source || !for_people || (!indent && changes_line)))
		table_set_count(t, c->line, row->line);
	if (source)
		table_set_text(t, c->age, source_age_name(row->age));
	table_set_text(t, c->function, row->function);
	table_set_text(t, c->file, row->file);
}

/* Stands for the rows since the last one that is shown. */
static void add_gap(struct table *t, const struct columns *c, enum table_format format)
{
	if (format != TABLE_TEXT)
		return;
	table_add_row(t);
	table_set_text(t, c->text, "...");
}

/* Samples of one that is left out, counted once: a source line's are those of its instructions. */
static uint64_t own_samples(const struct listing_row *row, bool addresses)
{
	return row->counts && (row->kind == LISTING_INSTRUCTION) == addresses ? row->counts[0] : 0;
}

static int add_rows(struct list_table *l, struct table *t, const struct columns *c, bool addresses,
		    bool sources)
{
	size_t count;
	const struct listing_row *rows = listing_rows(l->listing, &count);
	bool in_gap = false;
	int r = list_hot_of_rows(l->hot, rows, count, l->hit->counts[0]);

	for (size_t i = 0; i < count && !r; i++) {
		if (!list_hot_shows(l->hot, i, own_samples(&rows[i], addresses))) {
			if (!in_gap)
				add_gap(t, c, l->format);
			in_gap = true;
			continue;
		}
		add_row(l, t, c, &rows[i], sources,
			in_gap || i == 0 || rows[i].line != rows[i - 1].line);
		in_gap = false;
	}
	return r;
}

int list_table_make(struct list_table *l, struct table **ret)
{
	struct table *t = *ret = table_new("list");
	struct columns c = {0};
	size_t count;
	const struct listing_row *rows = listing_rows(l->listing, &count);
	bool addresses = false, sources = false, lines = false, aged = false;

	for (size_t i = 0; i < count; i++) {
		addresses |= rows[i].kind == LISTING_INSTRUCTION;
		sources |= rows[i].kind == LISTING_SOURCE;
		lines |= rows[i].line != 0;
		aged |= rows[i].kind == LISTING_SOURCE && rows[i].age != SOURCE_AS_BUILT;
	}
	add_counts(t, l->query, &c);
	metrics_add_columns(&l->metrics, t, "metrics", "");
	if (l->insight) {
		const char *range = addresses ? "(90%)" : NULL;

		c.frequency = table_add_estimate(t, "frequency", addresses ? "executions" : NULL,
						 range, 3);
		c.cpi = table_add_estimate(t, "cpi", addresses ? "CPI" : NULL, range, 4);
		c.confidence = table_add_column(t, TABLE_NAME, "confidence", NULL);
	}
	c.kind = table_add_column(t, TABLE_NAME, "kind", NULL);
	c.address = table_add_column(t, TABLE_ADDRESS, "address", addresses ? "address" : NULL);
	c.line = table_add_column(t, TABLE_COUNT, "line", lines ? "line" : NULL);
	c.age = table_add_column(t, TABLE_NAME, "source_age", aged ? "changed?" : NULL);
	c.text = table_add_text_column(t, "text", sources ? "source" : "instruction");
	table_set_share(t, c.text, CODE_PERCENT);
	c.function = table_add_column(t, TABLE_NAME, "function", NULL);
	c.file = table_add_column(t, TABLE_NAME, "file", NULL);
	return add_rows(l, t, &c, addresses, sources);
}

/* Sums up the rows from first on that are of the line. Their number. */
static size_t sum_line(const struct list_lines *l, size_t first, uint32_t line, uint64_t *counts,
		       const struct rank_row **ret_most)
{
	size_t count = 0, events = l->query->event_count;

	*ret_most = NULL;
	memset(counts, 0, events * sizeof(*counts));
	for (; first + count < l->row_count && l->rows[first + count]->line == line; count++) {
		const struct rank_row *row = l->rows[first + count];

		for (size_t e = 0; e < events; e++)
			counts[e] += row->counts[e];
		if (!*ret_most || row->counts[0] > (*ret_most)->counts[0])
			*ret_most = row;
	}
	return count;
}

/* One line with its sums. */
static void add_line(struct list_lines *l, struct table *t, const struct columns *c, uint32_t line,
		     const uint64_t *counts, const struct rank_row *most)
{
	const char *path = l->rows[0]->file;
	const char *text = line ? sources_line(l->sources, path, line, NULL) : NULL;
	bool zeros = l->format != TABLE_TEXT;

	table_add_row(t);
	set_counts(t, l->query, c, counts, l->totals, zeros);
	set_metrics(&l->metrics, l->query, t, counts, zeros);
	if (line)
		table_set_count(t, c->line, line);
	table_set_text(t, c->text, text);
	if (text)
		table_set_text(t, c->age, source_age_name(l->age));
	if (most)
		table_set_text(t, c->function, most->function);
	table_set_text(t, c->file, path);
}

/* Line 0 is of what has none; behind the end of the file come lines that it once had. */
static int add_lines(struct list_lines *l, struct table *t, const struct columns *c)
{
	uint64_t counts[QUERY_EVENTS_MAX];
	uint32_t line = l->rows[0]->line ? 1 : 0;
	const struct rank_row *most;
	bool in_gap = false;
	size_t at = 0;
	int r = list_hot_of_lines(l->hot, l->rows, l->row_count, l->totals[0]);

	while (!r) {
		bool has_rows = at < l->row_count && l->rows[at]->line == line, shown;

		if (!has_rows && !sources_line(l->sources, l->rows[0]->file, line, NULL)) {
			if (at == l->row_count)
				return 0;
			line = l->rows[at]->line;
			continue;
		}
		at += sum_line(l, at, line, counts, &most);
		shown = list_hot_shows(l->hot, line, counts[0]);
		if (shown)
			add_line(l, t, c, line, counts, most);
		else if (!in_gap)
			add_gap(t, c, l->format);
		in_gap = !shown;
		line++;
	}
	return r;
}

int list_table_lines(struct list_lines *l, struct table **ret)
{
	struct table *t = *ret = table_new("list");
	struct columns c = {0};

	add_counts(t, l->query, &c);
	metrics_add_columns(&l->metrics, t, "metrics", "");
	c.line = table_add_column(t, TABLE_COUNT, "line", "line");
	c.age = table_add_column(t, TABLE_NAME, "source_age",
				 l->age != SOURCE_AS_BUILT ? "changed?" : NULL);
	c.text = table_add_text_column(t, "text", "source");
	table_set_share(t, c.text, CODE_PERCENT);
	c.function = table_add_column(t, TABLE_NAME, "function", NULL);
	c.file = table_add_column(t, TABLE_NAME, "file", NULL);
	return add_lines(l, t, &c);
}

/* Shares are of all selected samples here. */
static void add_choice(struct table *t, const struct query *q, const struct columns *c,
		       const struct function_hit *hit, const uint64_t *totals)
{
	const char *name = hit->demangled ? hit->demangled : "[no symbol]";

	table_add_row(t);
	set_counts(t, q, c, hit->counts, totals, true);
	table_set_address(t, c->address, hit->start);
	table_set_text(t, c->function, name);
	report_set_image(t, c->image, c->build_id, hit->image);
}

struct table *list_table_choices(const struct query *q, const struct functions *f)
{
	struct table *t = table_new("list-choices");
	uint64_t totals[QUERY_EVENTS_MAX];
	struct columns c = {0};

	for (size_t e = 0; e < q->event_count; e++)
		totals[e] = q->events[e].selected;
	add_counts(t, q, &c);
	c.address = table_add_column(t, TABLE_ADDRESS, "address", "address");
	c.function = table_add_column(t, TABLE_NAME, "function", "function");
	c.image = table_add_column(t, TABLE_NAME, "image", "image");
	c.build_id = table_add_column(t, TABLE_NAME, "build_id", "build ID");
	for (size_t i = 0; i < f->count; i++)
		add_choice(t, q, &c, &f->list[i], totals);
	return t;
}

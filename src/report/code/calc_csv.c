/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* `culprit calc --csv`: a row an instruction, or with --brief a row a function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/code/calc_form.h"
#include "report/estimates.h"
#include "render/estimate.h"
#include "report/describe.h"
#include "util/buf.h"

#define CULPRITS_MAX_BYTES (64 << 10)

struct calc_csv {
	struct table *table;
	int function, image, build_id;
	int start, size, complete, percent, calls;    /* of functions */
	int block, address, text, charged, frequency; /* of instructions */
	int samples, best_cpi, cpi, confidence, cpi_confidence, culprits;
};

static void set_estimate(struct table *t, int column, const struct frequency_estimate *e)
{
	table_set_estimate(t, column, e->value, e->low, e->high);
}

static void add_columns(struct calc_csv *c, bool brief, struct metrics_bound *metrics)
{
	struct table *t = c->table;

	c->function = table_add_column(t, TABLE_NAME, "function", NULL);
	c->image = table_add_column(t, TABLE_NAME, "image", NULL);
	c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	if (brief) {
		c->start = table_add_column(t, TABLE_ADDRESS, "start", NULL);
		c->size = table_add_column(t, TABLE_COUNT, "size", NULL);
		c->complete = table_add_column(t, TABLE_COUNT, "complete", NULL);
	} else {
		c->block = table_add_column(t, TABLE_ADDRESS, "block", NULL);
		c->address = table_add_column(t, TABLE_ADDRESS, "address", NULL);
		c->text = table_add_text_column(t, "text", NULL);
	}
	c->samples = table_add_column(t, TABLE_COUNT, "samples", NULL);
	if (brief)
		c->percent = table_add_column(t, TABLE_PERCENT, "percent", NULL);
	else
		c->charged = table_add_column(t, TABLE_REAL, "charged", NULL);
	c->calls = c->frequency =
		table_add_estimate(t, brief ? "calls" : "frequency", NULL, NULL, 0);
	c->confidence = table_add_column(t, TABLE_NAME, "confidence", NULL);
	c->cpi = table_add_estimate(t, "cpi", NULL, NULL, 0);
	c->cpi_confidence = table_add_column(t, TABLE_NAME, "cpi_confidence", NULL);
	c->best_cpi = table_add_column(t, TABLE_REAL, "best_cpi", NULL);
	metrics_add_columns(metrics, t, "metrics", NULL);
	c->culprits = table_add_text_column(t, "culprits", NULL);
}

int calc_csv_new(bool brief, struct metrics_bound *metrics, struct calc_csv **ret)
{
	struct calc_csv *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->table = table_new("calc");
	add_columns(c, brief, metrics);
	*ret = c;
	return 0;
}

void calc_csv_free(struct calc_csv *c)
{
	if (!c)
		return;
	table_free(c->table);
	free(c);
}

static void set_place(struct calc_csv *c, const struct insight *i)
{
	table_add_row(c->table);
	table_set_text(c->table, c->function, i->name);
	report_set_image(c->table, c->image, c->build_id, i->image);
}

/* "dcache 0.50-3.20 0x1139; dtlb 0.00-3.20": cycles an execution, and the instruction to blame. */
static void set_culprits(struct calc_csv *c, const struct culprit_list *list)
{
	struct buf b;

	buf_init(&b, CULPRITS_MAX_BYTES);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct culprit *one = &list->list[i];

		buf_printf(&b, "%s%s %.2f-%.2f", i ? "; " : "", culprit_name(one->cause), one->low,
			   one->high);
		if (one->blame != ISA_NO_ADDRESS)
			buf_printf(&b, " %#llx", (unsigned long long)one->blame);
	}
	table_set_buf(c->table, c->culprits, &b);
	buf_free(&b);
}

static void add_instruction(const struct calc_form *f, const struct insight *i,
			    const struct insight_instruction *in)
{
	struct calc_csv *c = f->csv;
	uint64_t counts[QUERY_EVENTS_MAX];
	const struct insight_block *block = &i->blocks[in->block];
	struct table *t = c->table;

	set_place(c, i);
	table_set_address(t, c->block, block->start);
	table_set_address(t, c->address, in->address);
	table_set_count(t, c->samples, in->samples);
	table_set_real(t, c->charged, in->charged);
	set_estimate(t, c->frequency, &block->count);
	set_estimate(t, c->cpi, &in->cpi);
	table_set_real(t, c->best_cpi, in->best_cycles);
	if (calc_form_count(f, i, in->address, in->address + in->size, counts))
		metrics_set(f->metrics, t, counts);
	table_set_text(t, c->text, in->text);
	table_set_text(t, c->confidence, estimates_confidence(block->count.confidence));
	table_set_text(t, c->cpi_confidence, estimates_confidence(in->cpi.confidence));
	set_culprits(c, &in->culprits);
}

/* "dcache 20.0-63.5; port 12.0-12.0": percent of the function's cycles. */
static void set_summary(struct calc_csv *c, const struct insight_summary *s)
{
	struct buf b;

	buf_init(&b, CULPRITS_MAX_BYTES);
	for (unsigned i = 0; i < CULPRIT_CAUSES; i++) {
		double low = s->fixed[i].low + s->dynamic[i].low;
		double high = s->fixed[i].high + s->dynamic[i].high;

		if (high > 0 && s->samples > 0)
			buf_printf(&b, "%s%s %.1f-%.1f", b.size ? "; " : "", culprit_name(i),
				   100 * low / s->samples, 100 * high / s->samples);
	}
	table_set_buf(c->table, c->culprits, &b);
	buf_free(&b);
}

static void add_brief(struct calc_csv *c, const struct calc_form *f, const struct insight *i)
{
	double all = (double)f->total_samples;
	uint64_t counts[QUERY_EVENTS_MAX];
	struct table *t = c->table;

	set_place(c, i);
	table_set_address(t, c->start, i->start);
	table_set_count(t, c->size, i->size);
	table_set_count(t, c->complete, i->complete);
	table_set_count(t, c->samples, i->samples);
	table_set_real(t, c->percent, all > 0 ? 100 * (double)i->samples / all : 0);
	set_estimate(t, c->calls, &i->entries);
	set_estimate(t, c->cpi, &i->cpi);
	table_set_real(t, c->best_cpi, i->best_cpi);
	if (calc_form_count(f, i, 0, 0, counts))
		metrics_set(f->metrics, t, counts);
	table_set_text(t, c->confidence, estimates_confidence(i->entries.confidence));
	table_set_text(t, c->cpi_confidence, estimates_confidence(i->cpi.confidence));
	set_summary(c, &i->summary);
}

void calc_csv_function(struct calc_form *f, const struct insight *i)
{
	if (f->brief)
		add_brief(f->csv, f, i);
	for (size_t b = 0; b < i->block_count && !f->brief; b++) {
		const struct insight_block *block = &i->blocks[b];

		if (!calc_form_wants(f->block_percent, i, block))
			continue;
		for (uint32_t n = 0; n < block->instruction_count; n++)
			add_instruction(f, i, &i->instructions[block->first_instruction + n]);
	}
}

int calc_csv_print(const struct calc_csv *c, const struct report_header *h, FILE *out)
{
	return table_print(c->table, h, TABLE_CSV, out, 0);
}

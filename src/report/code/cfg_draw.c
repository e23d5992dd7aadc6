/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/code/cfg_view.h"
#include "render/dot.h"
#include "render/estimate.h"
#include "util/num.h"
#include "util/text.h"

/* The drawing of `culprit cfg`, after dcpi2ps of the same paper's tools. */

/* A function of more blocks than this is drawn without those that never ran. */
#define BLOCKS_MAX 250
/* Blocks with less than this share of the time show no instructions. */
#define SHARE_LEAST	 0.005
#define INSTRUCTIONS_MAX 40

struct drawing {
	const struct cfg_view *view;
	const struct metrics_bound *metrics;
	double most; /* executions of what ran most often */
	bool *shown;
	size_t hidden, ran; /* blocks that are not shown; of these, those that ran */
	struct buf *out;
};

static double share(const struct drawing *d, uint64_t samples)
{
	return d->view->total ? (double)samples / (double)d->view->total : 0;
}

/* "3e+04"; a guess from samples alone has one digit. */
static void format_count(double count, const struct frequency_estimate *e,
			 char out[ESTIMATE_TEXT_MAX])
{
	estimate_format_value(count, e ? e->low : 0, e ? e->high : INFINITY, out);
}

static void put_instructions(const struct drawing *d, const struct cfg_block *b, struct buf *text)
{
	const struct cfg_view *v = d->view;
	uint32_t count = b->instruction_count;

	for (uint32_t i = 0; i < count && i < INSTRUCTIONS_MAX; i++) {
		uint32_t n = b->first_instruction + i;

		if (v->samples[n])
			buf_printf(text, "%6" PRIu64 "  ", v->samples[n]);
		else
			buf_printf(text, "%8s", "");
		buf_printf(text, "%" PRIx64 "  %s\n", v->function->instructions[n].address,
			   v->texts[n] ? v->texts[n] : "");
	}
	if (count > INSTRUCTIONS_MAX)
		buf_printf(text, "        ... %u more\n", count - INSTRUCTIONS_MAX);
}

static void put_metrics(const struct drawing *d, const struct cfg_block *b, struct buf *text)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};
	bool any = false;

	query_part_count(d->view->part, b->start, b->end, counts);
	for (size_t e = 0; e < QUERY_EVENTS_MAX; e++)
		any |= counts[e] != 0;
	if (!any || !d->metrics->metrics || !d->metrics->metrics->count)
		return;
	metrics_write(d->metrics, counts, text);
	buf_append_u8(text, '\n');
}

static void draw_block(struct drawing *d, uint32_t block)
{
	const struct cfg_view *v = d->view;
	const struct cfg_block *b = &v->function->blocks[block];
	uint32_t loop = v->loops->innermost[block];
	struct dot_node n = {.id = block, .time = share(d, v->block_samples[block])};
	struct buf text;
	char count[ESTIMATE_TEXT_MAX];

	buf_init(&text, 1 << 20);
	format_count(v->blocks[block], v->estimate ? &v->estimate->block_count[block] : NULL,
		     count);
	buf_printf(&text, "%" PRIx64 "  %s", b->start, *count ? count : "not seen to run");
	if (*count)
		buf_printf(&text, !strcmp(count, "1") ? " time" : " times");
	if (n.time > 0)
		buf_printf(&text, "  %.1f%%", 100 * n.time);
	buf_printf(&text, "\n");
	put_metrics(d, b, &text);
	if (n.time >= SHARE_LEAST)
		put_instructions(d, b, &text);
	buf_append_u8(&text, 0);
	if (text.error)
		d->out->error = text.error;
	n.frequency = d->most > 0 ? v->blocks[block] / d->most : 0;
	n.doubled = loop != CFG_LOOP_NONE && v->loops->loops[loop].header == block;
	n.marked = v->marked_blocks && v->marked_blocks[block];
	n.text = text.error ? "" : (const char *)text.data;
	dot_add_node(d->out, &n);
	buf_free(&text);
}

static void draw_edge(struct drawing *d, uint32_t i)
{
	const struct cfg_view *v = d->view;
	const struct cfg_function *f = v->function;
	const struct cfg_edge *e = &f->edges[i];
	const double count = v->edges[i];
	char text[ESTIMATE_TEXT_MAX];
	struct dot_edge edge = {
		.from = e->from == CFG_OUTSIDE ? f->block_count : e->from,
		.to = e->to == CFG_OUTSIDE ? f->block_count + 1 : e->to,
		.frequency = d->most > 0 ? count / d->most : 0,
		.text = text,
		.marked = v->marked_edges && v->marked_edges[i],
		.stroke = e->kind == CFG_AFTER_CALL ? DOT_DASHED
			  : e->kind == CFG_INDIRECT || e->kind == CFG_LANDING ||
					  e->kind == CFG_MISSING
				  ? DOT_DOTTED
				  : DOT_SOLID,
	};

	if ((e->from != CFG_OUTSIDE && !d->shown[e->from]) ||
	    (e->to != CFG_OUTSIDE && !d->shown[e->to]))
		return;
	format_count(count, v->estimate ? &v->estimate->edge_count[i] : NULL, text);
	dot_add_edge(d->out, &edge);
}

static int by_weight(const void *pa, const void *pb, void *arg)
{
	const uint32_t *a = pa, *b = pb;
	const struct cfg_view *v = arg;
	int order = NUM_ORDER(v->block_samples[*b], v->block_samples[*a]);

	return order ?: NUM_ORDER(v->blocks[*b], v->blocks[*a]) ?: NUM_ORDER(*a, *b);
}

/* Hides all that is shown but the entry and so many of the heaviest. */
static int hide_light_blocks(struct drawing *d, uint64_t limit)
{
	const struct cfg_view *v = d->view;
	uint32_t count = v->function->block_count, n = 0;
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (d->shown[i] && i != v->function->entry_block)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), by_weight, (void *)v);
	for (uint64_t i = limit - 1; i < n; i++) {
		d->shown[order[i]] = false;
		d->hidden++;
		d->ran += v->blocks[order[i]] > 0 || v->block_samples[order[i]];
	}
	free(order);
	return 0;
}

static int choose_blocks(struct drawing *d, const struct cfg_view_choice *c)
{
	const struct cfg_view *v = d->view;
	uint32_t count = v->function->block_count;

	for (uint32_t i = 0; i < count; i++) {
		d->shown[i] = c->all || count <= BLOCKS_MAX || v->blocks[i] > 0 ||
			      v->block_samples[i] || i == v->function->entry_block;
		d->hidden += !d->shown[i];
		if (v->blocks[i] > d->most)
			d->most = v->blocks[i];
	}
	for (uint32_t i = 0; i < v->function->edge_count; i++) {
		if (v->edges[i] > d->most)
			d->most = v->edges[i];
	}
	return c->limit ? hide_light_blocks(d, c->limit) : 0;
}

/* What the samples are of, as every report has it. */
static void put_header(const struct report_header *h, struct buf *title)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r = out ? report_header_print_samples(h, out) : -ENOMEM;

	if (out && fclose(out))
		r = -ENOMEM;
	if (r)
		title->error = r;
	else
		buf_append(title, text, size);
	free(text);
}

static void draw_title(const struct drawing *d, const struct report_header *h)
{
	const struct cfg_view *v = d->view;
	struct buf title;

	buf_init(&title, 1 << 16);
	buf_printf(&title, "%s, 0x%" PRIx64 ": %" PRIu64 " %s, %u %s",
		   v->name ? v->name : "(no symbol)", v->function->entry, v->total,
		   text_plural(v->total, "sample", "samples"), v->function->block_count,
		   text_plural(v->function->block_count, "block", "blocks"));
	if (d->hidden)
		buf_printf(&title, " (%zu %s%s not shown)", d->hidden,
			   d->ran ? "" : "that never ran ", text_plural(d->hidden, "is", "are"));
	buf_printf(&title,
		   "\narea and colour: time; font size and line width: executions%s; double frame: "
		   "head of a loop; dashed: after a call; dotted: indirect\n",
		   !v->estimate		  ? ", a rough guess from samples"
		   : v->estimate->counted ? ", which were counted"
					  : "");
	if (v->marked_blocks)
		buf_printf(&title, "red: the way of one path\n");
	if (v->without_edges)
		buf_printf(&title,
			   "executions are from samples alone: culprit record --edges narrows "
			   "their intervals\n");
	if (!v->function->complete)
		buf_printf(&title, "jumps whose targets are not known are missing\n");
	put_header(h, &title);
	buf_append_u8(&title, 0);
	if (title.error)
		d->out->error = title.error;
	dot_begin(d->out, title.error ? "" : (const char *)title.data);
	buf_free(&title);
}

int cfg_view_draw(const struct cfg_view *v, const struct report_header *h,
		  const struct metrics_bound *metrics, const struct cfg_view_choice *choice,
		  struct buf *out, size_t *ret_hidden)
{
	const struct cfg_function *f = v->function;
	struct drawing d = {.view = v, .metrics = metrics, .out = out};
	struct dot_node outside = {.bare = true};
	int r;

	d.shown = calloc((size_t)f->block_count + 1, sizeof(*d.shown));
	if (!d.shown)
		return -ENOMEM;
	r = choose_blocks(&d, choice);
	if (r)
		goto out;
	*ret_hidden = d.hidden;
	draw_title(&d, h);
	outside.id = f->block_count;
	outside.text = "entry";
	dot_add_node(out, &outside);
	for (uint32_t i = 0; i < f->block_count; i++) {
		if (d.shown[i])
			draw_block(&d, i);
	}
	outside.id = f->block_count + 1;
	outside.text = "exit";
	dot_add_node(out, &outside);
	for (uint32_t i = 0; i < f->edge_count; i++)
		draw_edge(&d, i);
	dot_end(out);
	r = out->error;
out:
	free(d.shown);
	return r;
}

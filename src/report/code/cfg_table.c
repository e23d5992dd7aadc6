/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include "report/code/cfg_view.h"
#include "render/estimate.h"

/* The graph as rows, for scripts: blocks, then edges. */

struct columns {
	int kind, start, end, from, to, samples, frequency, loop, depth, path;
};

static const char *const kinds[] = {
	[CFG_FALL_THROUGH] = "fall-through",
	[CFG_TAKEN] = "taken",
	[CFG_JUMP] = "jump",
	[CFG_INDIRECT] = "indirect",
	[CFG_AFTER_CALL] = "after-call",
	[CFG_RETURN] = "return",
	[CFG_TAIL] = "tail-call",
	[CFG_MISSING] = "missing",
	[CFG_ENTER] = "enter",
	[CFG_LANDING] = "landing",
};

const char *cfg_view_kind(enum cfg_edge_kind kind)
{
	return kinds[kind];
}

static void set_frequency(struct table *t, const struct columns *c, double value,
			  const struct frequency_estimate *e)
{
	table_set_estimate(t, c->frequency, value, e ? e->low : 0, e ? e->high : INFINITY);
}

static void add_block(struct table *t, const struct columns *c, const struct cfg_view *v,
		      struct metrics_bound *metrics, uint32_t block)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};
	const struct cfg_block *b = &v->function->blocks[block];
	uint32_t loop = v->loops->innermost[block];

	table_add_row(t);
	table_set_text(t, c->kind, "block");
	table_set_address(t, c->start, b->start);
	table_set_address(t, c->end, b->end);
	table_set_count(t, c->samples, v->block_samples[block]);
	set_frequency(t, c, v->blocks[block],
		      v->estimate ? &v->estimate->block_count[block] : NULL);
	query_part_count(v->part, b->start, b->end, counts);
	metrics_set(metrics, t, counts);
	if (loop != CFG_LOOP_NONE) {
		uint32_t header = v->loops->loops[loop].header;

		table_set_address(t, c->loop, v->function->blocks[header].start);
		table_set_count(t, c->depth, v->loops->loops[loop].depth);
	}
}

/* From the block that it leaves, by its start, to the one that it enters. */
static void add_edge(struct table *t, const struct columns *c, const struct cfg_view *v,
		     uint32_t edge)
{
	const struct cfg_function *f = v->function;
	const struct cfg_edge *e = &f->edges[edge];

	table_add_row(t);
	table_set_text(t, c->kind, kinds[e->kind]);
	if (v->marked_edges && v->marked_edges[edge])
		table_set_count(t, c->path, 1);
	if (e->from != CFG_OUTSIDE)
		table_set_address(t, c->from, f->blocks[e->from].start);
	if (e->to != CFG_OUTSIDE)
		table_set_address(t, c->to, f->blocks[e->to].start);
	set_frequency(t, c, v->edges[edge], v->estimate ? &v->estimate->edge_count[edge] : NULL);
}

struct table *cfg_view_table(const struct cfg_view *v, struct metrics_bound *metrics)
{
	struct table *t = table_new("cfg");
	struct columns c;

	c.kind = table_add_column(t, TABLE_NAME, "kind", "kind");
	c.start = table_add_column(t, TABLE_ADDRESS, "start", "start");
	c.end = table_add_column(t, TABLE_ADDRESS, "end", "end");
	c.from = table_add_column(t, TABLE_ADDRESS, "from", "from");
	c.to = table_add_column(t, TABLE_ADDRESS, "to", "to");
	c.samples = table_add_column(t, TABLE_COUNT, "samples", "samples");
	c.frequency = table_add_estimate(t, "frequency", "frequency", "(90%)", 1);
	metrics_add_columns(metrics, t, "metrics", "");
	c.loop = table_add_column(t, TABLE_ADDRESS, "loop", "loop");
	c.depth = table_add_column(t, TABLE_COUNT, "depth", "depth");
	c.path = v->marked_edges ? table_add_column(t, TABLE_COUNT, "path", "path") : -1;
	for (uint32_t i = 0; i < v->function->block_count; i++)
		add_block(t, &c, v, metrics, i);
	for (uint32_t i = 0; i < v->function->edge_count; i++)
		add_edge(t, &c, v, i);
	return t;
}

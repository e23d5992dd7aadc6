/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include "analyze/frequency/evidence_graph.h"

/* Counts of whole functions (DB_EVIDENCE_COUNTS) on the graph. */

static bool is_at_end(const struct cfg_function *f, const struct evidence_place *p)
{
	const struct cfg_block *b = &f->blocks[p->block];

	return p->instruction == b->first_instruction + b->instruction_count - 1;
}

static bool is_at_start(const struct cfg_function *f, const struct evidence_place *p)
{
	return p->instruction == f->blocks[p->block].first_instruction;
}

/* The way between two blocks; CFG_OUTSIDE: from or to outside. */
static uint32_t find_way(const struct cfg_function *f, uint32_t from, uint32_t to)
{
	const struct cfg_block *b = &f->blocks[from == CFG_OUTSIDE ? to : from];
	const uint32_t count = from == CFG_OUTSIDE ? b->pred_count : b->succ_count;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t edge =
			from == CFG_OUTSIDE ? f->preds[b->first_pred + i] : b->first_succ + i;

		if (f->edges[edge].from == from && f->edges[edge].to == to)
			return edge;
	}
	return EVIDENCE_NO_EDGE;
}

static void see_epoch(struct evidence_function *f, uint32_t epoch)
{
	f->counted = f->counted ?: EVIDENCE_COUNTED_PART;
	if (!epoch || epoch == f->last_epoch)
		return;
	f->last_epoch = epoch;
	f->counted_epochs++;
}

/* The deviation of a count; 0: it is exact. */
static double error_of(struct evidence_function *f, const struct evidence_edge *row)
{
	const double count = (double)row->count;

	if (!row->windows || row->windows >= row->count)
		return 0;
	if (!(f->counted_least > 0) || count < f->counted_least)
		f->counted_least = count;
	return count / sqrt((double)row->windows);
}

void evidence_place_count(struct evidence *e, const struct evidence_edge *row,
			  const struct evidence_place *from, const struct evidence_place *to)
{
	const bool start = row->from == EVIDENCE_START, end = row->to == EVIDENCE_END;
	struct evidence_function *f;
	uint32_t way;
	double error;

	if (!from && !to)
		return;
	f = &e->functions[from ? from->function : to->function];
	see_epoch(f, row->epoch);
	error = error_of(f, row);
	way = EVIDENCE_NO_EDGE;
	if ((start || from) && (end || to) && (!from || is_at_end(f->function, from)) &&
	    (!to || is_at_start(f->function, to)) &&
	    (start || end || from->function == to->function))
		way = find_way(f->function, start ? CFG_OUTSIDE : from->block,
			       end ? CFG_OUTSIDE : to->block);
	else
		f->counted = EVIDENCE_COUNTED_MISFIT;
	if (way != EVIDENCE_NO_EDGE) {
		e->ways[f->first_edge + way].counted += (double)row->count;
		e->ways[f->first_edge + way].counted_error += error;
	} else if (end && from) {
		e->blocks[f->first_block + from->block].scattered += (double)row->count;
	} else if (start && to) {
		e->blocks[f->first_block + to->block].strewn += (double)row->count;
	} else {
		f->counted = EVIDENCE_COUNTED_MISFIT;
	}
	if (to) {
		e->blocks[f->first_block + to->block].counted += (double)row->count;
		e->blocks[f->first_block + to->block].counted_error += error;
	}
}

/* Of which way out of a block more went, as windows would tell; where they left, they do not. */
static void use_ratios(struct evidence *e, const struct evidence_function *f)
{
	for (uint32_t i = 0; i < f->function->edge_count; i++) {
		const struct cfg_edge *edge = &f->function->edges[i];
		struct evidence_way *way = &e->ways[f->first_edge + i];

		if (edge->from != CFG_OUTSIDE && edge->to != CFG_OUTSIDE)
			way->passes += way->counted;
	}
}

void evidence_judge_counts(struct evidence *e)
{
	for (size_t i = 0; i < e->function_count; i++) {
		struct evidence_function *f = &e->functions[i];

		if (f->counted == EVIDENCE_COUNTED_PART && e->counted_epochs &&
		    f->counted_epochs == e->counted_epochs)
			f->counted = EVIDENCE_COUNTED_WHOLE;
		if (f->counted == EVIDENCE_COUNTED_PART)
			use_ratios(e, f);
		e->totals.functions_misfit += f->counted == EVIDENCE_COUNTED_MISFIT;
		e->totals.functions_part += f->counted == EVIDENCE_COUNTED_PART;
		e->totals.functions_counted += f->counted == EVIDENCE_COUNTED_WHOLE;
		if (f->counted == EVIDENCE_COUNTED_WHOLE)
			e->totals.samples_counted += f->samples;
		e->totals.functions_bursts +=
			f->counted == EVIDENCE_COUNTED_WHOLE && f->counted_least > 0;
	}
	e->counts_scale = e->totals.windows && e->totals.functions_counted &&
			  2 * e->totals.samples_counted >= e->totals.samples_placed;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include <string.h>
#include "db/counters.h"
#include "report/why/why_state.h"
#include "util/text.h"

/* Sentences on what makes the others less sure. */

#define DOUBT_PERCENT  1.0
#define FEW_SAMPLES    1000
#define STACKS_PERCENT 90.0 /* that are complete: with more it is no matter */

static int add(struct why *w, double percent, const char *command, struct buf *text)
{
	struct why_sentence s = {
		.kind = WHY_DOUBT, .percent = percent, .confidence = FREQUENCY_HIGH};
	struct buf evidence;

	buf_init(&evidence, 65536);
	why_begin_evidence(w, &evidence, command);
	return why_add(w, &s, percent, text, &evidence);
}

static int tell_lost(struct why *w)
{
	const struct query *q = w->session->query;
	double lost = (double)q->lost_samples, all = lost;
	struct buf text;

	for (size_t i = 0; i < q->event_count; i++)
		all += (double)q->events[i].samples;
	if (all <= 0 || 100 * lost / all < DOUBT_PERCENT)
		return 0;
	buf_init(&text, 8192);
	why_write_share(&text, 100 * lost / all);
	buf_printf(&text, " of all samples were lost, so that shares may be off by as much");
	for (size_t i = 0; i < q->lost_count && i < 3; i++) {
		buf_printf(&text, i ? ", " : " (by cause: ");
		why_write_name(&text, q->lost[i].name);
		buf_printf(&text, " %llu", (unsigned long long)q->lost[i].value);
	}
	buf_printf(&text, q->lost_count ? ")." : ".");
	return add(w, 100 * lost / all, "prof", &text);
}

/* Rows of the ranking that have no function: of no mapping, or without a symbol. */
static int tell_unnamed(struct why *w, const char *name, const char *what)
{
	double samples = 0;
	struct buf text;

	for (size_t i = 0; i < w->functions->row_count; i++) {
		const struct rank_row *row = &w->functions->rows[i];

		if (row->function && !strcmp(row->function, name))
			samples += (double)row->counts[0];
	}
	if (why_share(w, samples) < DOUBT_PERCENT)
		return 0;
	buf_init(&text, 8192);
	why_write_share(&text, why_share(w, samples));
	buf_printf(&text, " %s %s.", w->of, what);
	return add(w, why_share(w, samples), "prof --by image", &text);
}

/* A share of half the samples is the least sure: 95% of the time it is within these points. */
static int tell_few(struct why *w)
{
	double points;
	struct buf text;

	if (w->total >= FEW_SAMPLES)
		return 0;
	buf_init(&text, 8192);
	if (w->total < 1) {
		buf_printf(&text,
			   "There are no samples in these epochs and this selection, so that "
			   "nothing can be said.");
		return add(w, 100, "prof", &text);
	}
	points = 100 * 1.96 * sqrt(0.25 / w->total);
	buf_printf(&text,
		   "Only %.0f %s taken: a share may be off by %.0f points (record for longer, or "
		   "sample more often with -F).",
		   w->total, w->total < 1.5 ? "sample was" : "samples were",
		   points > 50 ? 50 : points);
	return add(w, points > 50 ? 50 : points, "prof", &text);
}

static int tell_stacks(struct why *w)
{
	const struct stack_quality *q = w->stacks ? &w->stacks->quality : NULL;
	double complete;
	struct buf text;

	if (!q || !q->stacks)
		return 0;
	complete = 100 * (double)q->complete / (double)q->stacks;
	if (complete >= STACKS_PERCENT)
		return 0;
	buf_init(&text, 8192);
	why_write_share(&text, 100 - complete);
	buf_printf(&text, " of the stacks do not reach their thread's start");
	if (q->reasons) {
		buf_printf(&text, ", most of them for this reason: ");
		why_write_name(&text, q->truncated[0].name);
	}
	buf_printf(&text, "; who called what is less sure there.");
	return add(w, 100 - complete, "calls", &text);
}

/* What else went wrong while it was sampled: the first that a report would tell. */
static int tell_trouble(struct why *w)
{
	const struct query *q = w->session->query;

	for (size_t i = 0; i < q->trouble_count; i++) {
		const struct counter *c = counters_find(q->trouble[i].name);
		struct buf text;

		if (!c || !c->told.one)
			continue;
		buf_init(&text, 8192);
		buf_printf(&text, "While it was sampled, %llu %s %s.",
			   TEXT_COUNT(q->trouble[i].value, c->told.one, c->told.many),
			   c->told.rest);
		return add(w, 0, "prof", &text);
	}
	return 0;
}

int why_tell_doubts(struct why *w)
{
	int r = tell_few(w) ?: tell_lost(w);

	r = r ?: tell_unnamed(w, RANK_UNKNOWN, "is in code that no mapping explains");
	r = r
		    ?: tell_unnamed(
			       w, RANK_NO_SYMBOL,
			       "is in code without symbols: install the debug symbols of these "
			       "images to have names and lines");
	r = r ?: tell_stacks(w);
	return r ?: tell_trouble(w);
}

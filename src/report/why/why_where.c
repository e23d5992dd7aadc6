/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/why/why_state.h"
#include "util/text.h"

/* Sentences on places, and on functions whose time is in no such place. */

#define PLACES_MAX    6 /* sentences */
#define FUNCTIONS_MAX 5
#define LIKELY	      0.5 /* of a place's stalls; with less another cause is as likely */
#define PERHAPS	      0.2 /* of them: another cause is named, too */
#define UNPLACED      0.3 /* of a function's samples; with less its places say it all */

static void begin_share(const struct why *w, struct buf *b, double samples)
{
	why_write_share(b, why_share(w, samples));
	buf_printf(b, " %s", w->of);
}

/* Why it is not sure, after the sentence; nothing if it is. */
static void end_sentence(struct buf *b, enum frequency_confidence c, const char *reason)
{
	buf_printf(b, c == FREQUENCY_LOW ? " (low confidence: %s)." : ".", reason);
}

static enum culprit_cause first_of(const struct why_place *p)
{
	unsigned best = 0;

	for (unsigned k = 1; k < CULPRIT_CAUSES; k++)
		if (p->likely[k] > p->likely[best])
			best = k;
	return best;
}

/* The least sure of what the sentence rests on: samples, executions, and the cause. */
static enum frequency_confidence judge_place(const struct why_place *p, enum culprit_cause cause,
					     const char **ret_reason)
{
	enum frequency_confidence c = why_confidence(p->samples);

	*ret_reason = "few samples";
	if (p->likely[cause] < LIKELY * p->samples) {
		c = FREQUENCY_LOW;
		*ret_reason = "other causes are as likely";
	} else if (p->confidence < c) {
		c = p->confidence;
		*ret_reason = "how often it ran is estimated from samples alone";
	}
	if (c > FREQUENCY_MEDIUM && p->sure[cause] < LIKELY * p->samples)
		c = FREQUENCY_MEDIUM;
	return c;
}

/* "waits 43 cycles for memory, perhaps also for the divider" */
static void write_causes(struct buf *b, const struct why_place *p, enum culprit_cause first)
{
	const char *before = ", perhaps also ";

	why_write_cause(b, first, p->level, p->count >= 1 ? p->cycles_count / p->count : 0,
			p->confidence < FREQUENCY_HIGH);
	for (unsigned k = 0; k < CULPRIT_CAUSES; k++) {
		if (k == first || k == CULPRIT_UNEXPLAINED || p->likely[k] < PERHAPS * p->samples)
			continue;
		buf_printf(b, "%s%s", before, why_reason(k, p->level));
		before = " or ";
	}
}

/* "join.c:26 in join_probe", or the instruction. */
static void write_place(struct buf *b, const struct why_place *p)
{
	if (p->frame)
		why_write_line(b, p->frame);
	else
		buf_printf(b, "the instruction at 0x%" PRIx64, p->address);
	buf_printf(b, " in ");
	why_write_name(b, p->function ? p->function : text_base_name(p->image->path));
	buf_printf(b, " ");
}

static struct why_sentence place_sentence(struct why *w, const struct why_place *p)
{
	return (struct why_sentence){
		.kind = WHY_STALL,
		.percent = why_share(w, p->samples),
		.function = why_keep(w, p->function),
		.file = p->frame ? why_keep(w, p->frame->file) : NULL,
		.line = p->frame ? p->frame->line : 0,
		.has_address = true,
		.address = p->address,
	};
}

static int tell_place(struct why *w, const struct why_place *p)
{
	struct why_sentence s = place_sentence(w, p);
	enum culprit_cause cause = first_of(p);
	struct buf text, evidence;
	const char *reason;

	buf_init(&text, 8192);
	buf_init(&evidence, 65536);
	s.confidence = judge_place(p, cause, &reason);
	begin_share(w, &text, p->samples);
	buf_printf(&text, ": ");
	write_place(&text, p);
	write_causes(&text, p, cause);
	int r = why_write_callers(w, p->image, p->function_start, &text);
	end_sentence(&text, s.confidence, reason);
	why_begin_evidence(w, &evidence, "calc");
	why_write_function(w, &evidence, p->image, p->function, p->function_start);
	r = r ?: why_set_image(w, &s, p->image);
	return why_add(w, &s, p->samples, &text, &evidence) ?: r;
}

static struct why_function *find_looked(struct why *w, const struct query_image *image,
					uint64_t start)
{
	for (size_t i = 0; i < w->looked_count; i++)
		if (w->looked[i].of->image == image && w->looked[i].of->start == start)
			return &w->looked[i];
	return NULL;
}

int why_tell_places(struct why *w)
{
	int r = 0;

	for (size_t i = 0; i < w->place_count && i < PLACES_MAX && !r; i++) {
		const struct why_place *p = &w->places[i];
		struct why_function *f;

		/* What nothing explains is no reason: the function's sentence has it. */
		if (why_share(w, p->samples) < WHY_PLACE_PERCENT)
			break;
		if (first_of(p) == CULPRIT_UNEXPLAINED)
			continue;
		f = find_looked(w, p->image, p->function_start);
		if (f)
			f->placed += p->samples;
		r = tell_place(w, p);
	}
	return r;
}

/* The cause of most of a function's stalls; CULPRIT_CAUSES: none has any. */
static unsigned first_cause(const struct insight_summary *s, double *ret_samples)
{
	unsigned best = CULPRIT_CAUSES;

	*ret_samples = 0;
	for (unsigned k = 0; k < CULPRIT_CAUSES; k++) {
		double likely = s->fixed[k].likely + s->dynamic[k].likely;

		if (likely > *ret_samples) {
			*ret_samples = likely;
			best = k;
		}
	}
	return best;
}

/* What its own time is: execution, one cause, or not known. */
static void write_what(struct buf *b, const struct why_function *f)
{
	double most;
	unsigned cause;

	if (!f || f->summary.samples <= 0) {
		buf_printf(b, "; no code of it can be read to say why");
		return;
	}
	cause = first_cause(&f->summary, &most);
	buf_printf(b, "; of that, ");
	if (f->summary.execution >= most) {
		why_write_share(b, 100 * f->summary.execution / f->summary.samples);
		buf_printf(b, " is execution at the core's full width, which only fewer "
			      "instructions make less");
		return;
	}
	why_write_share(b, 100 * most / f->summary.samples);
	buf_printf(b, " likely is: %s", culprit_title(cause));
}

/* Where that is known well. */
static void write_calls(struct buf *b, const struct why_function *f)
{
	if (!f || f->entries.confidence < FREQUENCY_MEDIUM || f->entries.value < 1)
		return;
	buf_printf(b,
		   f->entries.confidence == FREQUENCY_COUNTED ? ", %.0f times"
							      : ", about %.3g times",
		   f->entries.value);
}

static bool is_function(const struct rank_row *row)
{
	return row->image && row->function && row->size;
}

static int tell_function(struct why *w, const struct rank_row *row, double unplaced)
{
	struct why_function *f = find_looked(w, row->image, row->start);
	double samples = (double)row->counts[0];
	struct why_sentence s = {
		.kind = WHY_FUNCTION,
		.percent = why_share(w, samples),
		.confidence = why_confidence(samples),
		.function = why_keep(w, row->function),
	};
	struct buf text, evidence;

	buf_init(&text, 8192);
	buf_init(&evidence, 65536);
	begin_share(w, &text, samples);
	buf_printf(&text, " is in ");
	why_write_name(&text, row->function);
	buf_printf(&text, " of ");
	why_write_name(&text, text_base_name(row->image->path));
	int r = why_write_callers(w, row->image, row->start, &text);
	write_calls(&text, f);
	if (w->tells_time)
		write_what(&text, f);
	end_sentence(&text, s.confidence, "few samples");
	why_begin_evidence(w, &evidence, w->tells_time && f ? "calc" : "list");
	why_write_function(w, &evidence, row->image, row->function, row->start);
	r = r ?: why_set_image(w, &s, row->image);
	return why_add(w, &s, unplaced, &text, &evidence) ?: r;
}

/* The next function by what no place has of it, below what was told last. */
static const struct rank_row *next_function(struct why *w, const bool *told, double *ret_unplaced)
{
	const struct rank_row *best = NULL;

	*ret_unplaced = 0;
	for (size_t i = 0; i < w->functions->row_count; i++) {
		const struct rank_row *row = &w->functions->rows[i];
		struct why_function *f;
		double left;

		if (told[i] || !is_function(row))
			continue;
		f = find_looked(w, row->image, row->start);
		left = (double)row->counts[0] - (f ? f->placed : 0);
		if (left > *ret_unplaced && left >= UNPLACED * (double)row->counts[0]) {
			*ret_unplaced = left;
			best = row;
		}
	}
	return best;
}

int why_tell_functions(struct why *w)
{
	bool *told = calloc(w->functions->row_count + 1, sizeof(*told));
	const struct rank_row *row;
	double unplaced;
	int r = told ? 0 : -ENOMEM;

	for (size_t n = 0; n < FUNCTIONS_MAX && !r; n++) {
		row = next_function(w, told, &unplaced);
		if (!row || why_share(w, unplaced) < WHY_FUNCTION_PERCENT)
			break;
		told[row - w->functions->rows] = true;
		r = tell_function(w, row, unplaced);
	}
	free(told);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/estimates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "analyze/query/query.h"
#include "render/estimate.h"
#include "report/describe.h"
#include "util/text.h"

static bool has_samples(const struct query *q)
{
	for (size_t i = 0; i < q->event_count; i++)
		if (q->events[i].selected)
			return true;
	return false;
}

/* Of everything that is selected; what is idle is left out, of each event. */
static int bind_metrics(struct estimates *s, const struct metrics *metrics, struct diag *diag)
{
	uint64_t totals[QUERY_EVENTS_MAX] = {0}, idle[QUERY_EVENTS_MAX] = {0};
	const struct query *query = s->session->query;
	const struct insights_function *list = NULL;
	size_t count = 0;

	if (s->all)
		list = insights_functions(s->all, &count);
	for (size_t i = 0; i < count && metrics->count; i++)
		if (rank_is_idle(&list[i].image->id, list[i].name))
			metrics_count_function(query_find_part(query, list[i].image),
					       list[i].function, idle);
	for (size_t e = 0; e < query->event_count; e++)
		totals[e] = query->events[e].selected - idle[e];
	return metrics_bind(metrics, query, totals, &s->bound, diag);
}

int estimates_new(struct estimates *s, struct report_session *session,
		  const struct estimates_options *o, struct diag *diag)
{
	struct insights_request request = {
		.query = session->query,
		.reader = session->reader,
		.finder = session->finder,
		.method = o->classic ? FREQUENCY_CLASSIC : FREQUENCY_FLOW,
		.progress = session->progress,
	};

	s->session = session;
	s->classic = o->classic;
	size_t count;
	int r = insights_new(&request, &s->all, diag);
	if (!r || r == -ENODATA) {
		/* Without an event that tells time there may still be something to show. */
		int metrics = bind_metrics(s, &o->metrics, diag);

		r = metrics ? metrics : r;
	}
	if (r)
		return r;
	const struct insights_function *list = insights_functions(s->all, &count);
	for (size_t i = 0; i < count; i++)
		if (rank_is_idle(&list[i].image->id, list[i].name))
			s->idle += list[i].samples;
	return 0;
}

int estimates_read(struct estimates *s, struct report_session *session,
		   const struct estimates_options *o, struct diag *diag)
{
	const struct report_options *report = session->options;
	int r = 0;

	if (report->function) {
		r = pattern_compile(report->function, &s->regex, diag);
		s->has_regex = !r;
	}
	if (!r)
		r = report_session_read(session, NULL, QUERY_WHOLE, diag);
	if (!r && report->selection.image && !has_samples(session->query))
		r = diag_fail(diag, ENOENT,
			      "no samples in images '%s' in these epochs and this selection "
			      "(see: culprit prof)",
			      report->selection.image);
	return r ? r : estimates_new(s, session, o, diag);
}

void estimates_free(struct estimates *s)
{
	if (s->has_regex)
		regfree(&s->regex);
	insights_free(s->all);
}

uint64_t estimates_samples(const struct estimates *s)
{
	return insights_samples(s->all) - s->idle;
}

bool estimates_are_part(const struct estimates *s)
{
	const struct query *q = s->session->query;

	return q->event_count && q->events[0].selected < q->events[0].samples;
}

bool estimates_skips(const struct estimates *s, const struct insights_function *f)
{
	const char *name = f->name ? f->name : RANK_NO_SYMBOL;

	return rank_is_idle(&f->image->id, f->name) ||
	       (s->has_regex && regexec(&s->regex, name, 0, NULL, 0) != 0);
}

const char *estimates_confidence(enum frequency_confidence c)
{
	static const char *const names[] = {"low", "medium", "high", "counted"};

	return names[c <= FREQUENCY_COUNTED ? c : 0];
}

static bool selects_nothing(const struct query *q)
{
	for (size_t i = 0; i < q->part_count; i++)
		if (q->parts[i].selected && q->parts[i].row_count)
			return false;
	return true;
}

const char *estimates_without_edges(const struct db_reader *reader)
{
	return db_reader_damages(reader)
		       ? "no edges were recorded, or their part of the database is damaged"
		       : "no edges were recorded";
}

/* What the costs lack, so that best cases are those of other instructions. */
static void describe_model(const struct estimates *s, struct report_header *h)
{
	struct machine_counters c;

	insights_count_forms(s->all, &c);
	if (c.forms_unknown + c.forms_refused)
		report_header_note(
			h, "costs of %llu of %llu forms of instruction are those of their kind",
			(unsigned long long)(c.forms_unknown + c.forms_refused),
			(unsigned long long)(c.forms + c.forms_refused));
	if (c.registers_left_out + c.uses_left_out)
		report_header_note(h,
				   "%llu %s and %llu %s of instructions with many of them are left "
				   "out",
				   TEXT_COUNT(c.registers_left_out, "register", "registers"),
				   TEXT_COUNT(c.uses_left_out, "port use", "port uses"));
}

/* What was counted, and what that is used for. */
static void note_counts(struct report_header *h, const struct insights_basis *b, uint64_t samples)
{
	if (b->functions_counted)
		report_header_note(
			h,
			"executions of %llu %s with %.1f%% of the samples are counted%s, "
			"others estimated; cycles include those of the counters",
			TEXT_COUNT(b->functions_counted, "function", "functions"),
			samples ? 100 * (double)b->samples_counted / (double)samples : 0,
			b->functions_bursts ? " in bursts" : "");
	if (b->functions_part)
		report_header_note(h, "counts of %llu %s are used for ratios of branches alone: %s",
				   TEXT_COUNT(b->functions_part, "function", "functions"),
				   b->counts_part ? b->counts_part : "not all epochs have them");
	if (b->functions_misfit)
		report_header_note(h, "counts of %llu %s are left out: the code has other blocks",
				   TEXT_COUNT(b->functions_misfit, "function", "functions"));
}

/* What the registers of samples tell. */
static void note_loops(struct report_header *h, const struct insights_basis *b, uint64_t samples)
{
	if (b->loops)
		report_header_note(h,
				   "iterations of %llu %s with %.1f%% of the samples are known "
				   "from pairs of samples",
				   TEXT_COUNT(b->loops, "loop", "loops"),
				   samples ? 100 * (double)b->samples_looped / (double)samples : 0);
}

/* What control flow was seen, and by whom. */
static void note_edges(struct report_header *h, const struct insights_basis *b)
{
	if (b->edges)
		report_header_note(h, "frequencies: from samples and %llu branch %s in %llu %s",
				   TEXT_COUNT(b->edges, "outcome", "outcomes"),
				   TEXT_COUNT(b->windows, "window", "windows"));
	if (b->records)
		report_header_note(h,
				   "frequencies: from samples and %llu branch %s of the processor",
				   TEXT_COUNT(b->records, "record", "records"));
}

static void describe_basis(const struct estimates *s, struct report_header *h)
{
	const struct insights_basis *b = insights_basis(s->all);

	report_header_note(h, "core: %s; cycles of %.2f GHz (%s)", b->core, b->clock_ghz,
			   b->clock_source);
	report_header_note(
		h,
		"%.0f%% of stalls are shown at the next instruction (%s), and charged to "
		"the one before",
		100 * b->skid,
		b->skid_measured ? "measured on this machine" : "a typical value: not measured");
	note_counts(h, b, insights_samples(s->all));
	note_loops(h, b, insights_samples(s->all));
	if (selects_nothing(s->session->query))
		report_nothing_matches(h);
	else if (s->classic)
		report_header_note(h, "frequencies: by the rule of DCPI, from samples alone "
				      "(--classic)");
	else if (b->classic)
		report_header_note(h, "frequencies: by the rule of DCPI, from samples alone: a "
				      "function is too large for the flow to be solved");
	else if (insights_have_edges(s->all))
		note_edges(h, b);
	else
		report_header_note(h,
				   "frequencies: from samples alone, %s: "
				   "their confidence is low, and `culprit record --edges` "
				   "narrows their intervals",
				   estimates_without_edges(s->session->reader));
	if (b->instructions.value > 0) {
		char text[ESTIMATE_TEXT_MAX];

		estimate_format(b->instructions.value, b->instructions.low, b->instructions.high,
				estimates_confidence(b->instructions.confidence), text);
		report_header_note(h, "%s%s instructions in all",
				   b->instructions.confidence == FREQUENCY_COUNTED ? "" : "about ",
				   text);
	}
	describe_model(s, h);
	if (s->idle)
		report_header_note(h, "idle functions are left out: %llu %s",
				   TEXT_COUNT(s->idle, "sample", "samples"));
	if (b->samples_without_code)
		report_header_note(h, "no code of %llu %s with %llu %s: %s%s",
				   TEXT_COUNT(b->images_without_code, "image", "images"),
				   TEXT_COUNT(b->samples_without_code, "sample", "samples"),
				   text_plural(b->images_without_code, "", "the first: "),
				   b->code_reason.text);
	if (b->samples_unplaced)
		report_header_note(h, "%llu %s in code that is in no function's graph",
				   TEXT_COUNT(b->samples_unplaced, "sample is", "samples are"));
}

void estimates_describe(struct estimates *s, struct report_header *h)
{
	report_describe(h, s->session);
	describe_basis(s, h);
}

void estimates_describe_shares(const struct estimates *s, struct report_header *h)
{
	if (estimates_are_part(s) && estimates_samples(s))
		report_header_note(h, "percentages are of the %llu %s of the selection",
				   TEXT_COUNT(estimates_samples(s), "sample", "samples"));
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/insights.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include "analyze/pattern.h"
#include "cmd/progress.h"
#include "report/estimate.h"

int insights_take_option(struct insights_session *s, int value, const char *text, struct diag *diag)
{
	if (value == INSIGHTS_CLASSIC) {
		s->classic = true;
		return 0;
	}
	if (value == REPORT_METRIC)
		return metrics_take(&s->metrics, text, diag);
	return report_take_option(&s->report, value, text, diag);
}

int insights_take_cause(const char *text, enum culprit_cause *ret, struct diag *diag)
{
	char names[512] = "";
	size_t used = 0;
	enum culprit_cause c = culprit_by_name(text);
	if (c != CULPRIT_CAUSES) {
		*ret = c;
		return 0;
	}
	for (unsigned i = 0; i < CULPRIT_CAUSES && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 culprit_name((enum culprit_cause)i));
	return diag_fail(diag, EINVAL, "--cause '%s' is none of %s", text, names);
}

static bool has_samples(const struct query *q)
{
	for (size_t i = 0; i < q->event_count; i++)
		if (q->events[i].selected)
			return true;
	return false;
}

static int open_all(struct insights_session *s, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	const char *path;
	size_t count;
	int err = query_new(&s->report.selection, QUERY_WHOLE, &s->query, diag);
	if (!err)
		err = report_open(&s->report, &path, &s->reader, diag);
	if (!err)
		err = query_read(s->query, s->reader, diag);
	if (!err && s->report.selection.image && !has_samples(s->query))
		err = diag_fail(diag, ENOENT,
				"no samples in images '%s' in these epochs and this selection "
				"(see: culprit prof)",
				s->report.selection.image);
	if (err)
		return err;
	epochs = db_reader_selected(s->reader, &count);
	err = image_finder_new(path, count ? epochs[0]->machine : NULL, &s->finder);
	return err ? diag_fail(diag, -err, "cannot look for code: %s", strerror(-err)) : 0;
}

static void show_progress(const char *doing, size_t done, size_t of)
{
	progress_show("culprit: %s, %zu of %zu", doing, done, of);
}

/* Of everything that is selected; what is idle is left out, of each event. */
static int bind_metrics(struct insights_session *s, struct diag *diag)
{
	uint64_t totals[QUERY_EVENTS_MAX] = {0}, idle[QUERY_EVENTS_MAX] = {0};
	const struct insights_function *list = NULL;
	size_t count = 0;
	if (s->all)
		list = insights_functions(s->all, &count);
	for (size_t i = 0; i < count && s->metrics.count; i++)
		if (rank_is_idle(&list[i].image->id, list[i].name))
			metrics_count_function(query_find_part(s->query, list[i].image),
					       list[i].function, idle);
	for (size_t e = 0; e < s->query->event_count; e++)
		totals[e] = s->query->events[e].selected - idle[e];
	return metrics_bind(&s->metrics, s->query, totals, &s->bound, diag);
}

static int estimate(struct insights_session *s, struct diag *diag)
{
	struct insights_request request = {
		.query = s->query,
		.reader = s->reader,
		.finder = s->finder,
		.method = s->classic ? FREQUENCY_CLASSIC : FREQUENCY_FLOW,
		.progress = show_progress,
	};
	size_t count;
	int err = insights_new(&request, &s->all, diag);
	if (!err || err == -ENODATA) {
		/* Without an event that tells time there may still be something to show. */
		int metrics = bind_metrics(s, diag);
		err = metrics ? metrics : err;
	}
	if (err)
		return err;
	const struct insights_function *list = insights_functions(s->all, &count);
	for (size_t i = 0; i < count; i++)
		if (rank_is_idle(&list[i].image->id, list[i].name))
			s->idle += list[i].samples;
	return 0;
}

int insights_open(struct insights_session *s, struct diag *diag)
{
	int err = 0;
	if (s->report.function) {
		err = pattern_compile(s->report.function, &s->regex, diag);
		s->has_regex = !err;
	}
	err = err ? err : open_all(s, diag);
	return err ? err : estimate(s, diag);
}

int insights_open_picked(struct insights_session *s, struct pick *p, struct diag *diag)
{
	s->query = p->query;
	s->reader = p->reader;
	s->finder = p->finder;
	p->query = NULL;
	p->reader = NULL;
	p->finder = NULL;
	return estimate(s, diag);
}

void insights_close(struct insights_session *s)
{
	if (s->has_regex)
		regfree(&s->regex);
	metrics_free(&s->metrics);
	insights_free(s->all);
	query_free(s->query);
	image_finder_free(s->finder);
	report_close(s->reader);
}

int insights_print(struct insights_session *s, struct table *t, struct report_header *h, int err,
		   struct diag *diag)
{
	if (!err)
		err = metrics_describe(&s->bound, NULL, h);
	if (err)
		err = diag_fail(diag, ENOMEM, "out of memory");
	else
		err = report_print(t, h, s->report.format);
	table_free(t);
	report_header_free(h);
	return err;
}

bool insights_skips(const struct insights_session *s, const struct insights_function *f)
{
	const char *name = f->name ? f->name : RANK_NO_SYMBOL;
	return rank_is_idle(&f->image->id, f->name) ||
	       (s->has_regex && regexec(&s->regex, name, 0, NULL, 0) != 0);
}

const char *insights_confidence(enum frequency_confidence c)
{
	static const char *const names[] = {"low", "medium", "high"};
	return names[c <= FREQUENCY_HIGH ? c : 0];
}

static bool selects_nothing(const struct query *q)
{
	for (size_t i = 0; i < q->part_count; i++)
		if (q->parts[i].selected && q->parts[i].row_count)
			return false;
	return true;
}

const char *insights_without_edges(const struct db_reader *reader)
{
	return db_reader_damages(reader) ? "no edges were recorded, or what is damaged had them"
					 : "no edges were recorded";
}

/* What the costs lack, so that best cases are those of other instructions. */
static void describe_model(const struct insights_session *s, struct report_header *h)
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
				   "of instructions with many %llu registers and %llu uses of "
				   "ports are left out",
				   (unsigned long long)c.registers_left_out,
				   (unsigned long long)c.uses_left_out);
}

static void describe_basis(const struct insights_session *s, struct report_header *h)
{
	const struct insights_basis *b = insights_basis(s->all);
	report_header_note(h, "core: %s; cycles of %.2f GHz (%s)", b->core, b->clock_ghz,
			   b->clock_source);
	report_header_note(
		h,
		"%.0f%% of stalls are shown at the next instruction (%s), and charged to "
		"the one before",
		100 * b->skid,
		b->skid_measured ? "measured on this machine" : "the usual: not measured");
	if (selects_nothing(s->query))
		report_nothing_matches(h);
	else if (s->classic)
		report_header_note(h, "frequencies: by the rule of DCPI, from samples alone "
				      "(--classic)");
	else if (b->classic)
		report_header_note(h, "frequencies: by the rule of DCPI, from samples alone: a "
				      "function is too large for the flow to be solved");
	else if (b->edges)
		report_header_note(h,
				   "frequencies: from samples and %llu branch outcomes in %llu "
				   "windows",
				   (unsigned long long)b->edges, (unsigned long long)b->windows);
	else
		report_header_note(h,
				   "frequencies: from samples alone, %s: "
				   "their confidence is low, and `culprit record --edges` "
				   "narrows their intervals",
				   insights_without_edges(s->reader));
	if (b->instructions.value > 0) {
		char text[ESTIMATE_TEXT_MAX];

		estimate_format(b->instructions.value, b->instructions.low, b->instructions.high,
				insights_confidence(b->instructions.confidence), text);
		report_header_note(h, "about %s instructions in all", text);
	}
	describe_model(s, h);
	if (s->idle)
		report_header_note(h, "idle functions are left out: %llu samples",
				   (unsigned long long)s->idle);
	if (b->samples_without_code)
		report_header_note(
			h, "no code of %llu image%s with %llu samples, %s%s",
			(unsigned long long)b->images_without_code,
			b->images_without_code == 1 ? "" : "s",
			(unsigned long long)b->samples_without_code,
			b->images_without_code == 1 ? "" : "the first: ", b->code_reason.text);
	if (b->samples_unplaced)
		report_header_note(h, "%llu samples are in code that is in no function's graph",
				   (unsigned long long)b->samples_unplaced);
}

int insights_describe(struct insights_session *s, struct report_header *h)
{
	int err = report_describe(h, s->reader, s->query, s->finder);
	if (!err)
		describe_basis(s, h);
	return err;
}

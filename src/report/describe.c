/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "db/counters.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

/* The name among those of the list that is split by ", ", added if it is not. */
static void add_machine(struct report_header *h, const char *name)
{
	size_t size = strlen(name);
	char *longer;

	for (const char *p = h->machine; p && *p; p += strcspn(p, ",") + 2) {
		if (strcspn(p, ",") == size && !strncmp(p, name, size))
			return;
		if (!p[strcspn(p, ",")])
			break;
	}
	if (asprintf(&longer, "%s%s%s", h->machine ?: "", h->machine ? ", " : "", name) < 0) {
		h->error = -ENOMEM;
		return;
	}
	free(h->machine);
	h->machine = longer;
}

void report_describe_epochs(struct report_header *h, const struct db_epoch *const *epochs,
			    size_t count)
{
	h->epochs = report_header_list(h, count, sizeof(*h->epochs));
	for (size_t i = 0; i < count && !h->error; i++) {
		const struct db_epoch *e = epochs[i];

		h->epochs[h->epoch_count++] = report_header_text(h, e->name);
		if (!i || e->start_ns < h->start_ns)
			h->start_ns = e->start_ns;
		if (e->end_ns > h->end_ns)
			h->end_ns = e->end_ns;
		add_machine(h, e->machine);
	}
}

static void describe_events(struct report_header *h, const struct query *q)
{
	bool twins = false;

	h->events = report_header_list(h, q->event_count, sizeof(*h->events));
	for (size_t i = 0; i < q->event_count && !h->error; i++) {
		const struct query_event *e = &q->events[i];

		h->events[h->event_count++] = (struct report_event){
			.name = report_header_text(h, e->label),
			.period = e->period,
			.precise = e->flags & DB_EVENT_PRECISE,
			.randomized = e->flags & DB_EVENT_RANDOMIZED,
			.samples = e->samples,
			.lost = e->lost,
			.scale = query_event_scale(e),
		};
		h->samples = num_add_sat(h->samples, e->samples);
		h->unknown = num_add_sat(h->unknown, e->unknown);
		twins |= e->label != e->name;
		if (e->joined.name)
			report_header_note(h,
					   "%s: %" PRIu64 " ticks and %" PRIu64 " random samples, "
					   "joined; %.1f%% of the time was moved to where the "
					   "random ones say that it was spent",
					   e->label, e->joined.ticks, e->joined.timers,
					   e->joined.moved_percent);
		if (e->periods > 1)
			report_header_note(h,
					   "%s was sampled with %u periods, one after the other: "
					   "counts are in samples of the commonest",
					   e->label, e->periods);
	}
	if (twins)
		report_header_note(h,
				   "the same event was sampled with different periods at a time: "
				   "they are kept apart, as NAME:PERIOD");
}

static void describe_losses(struct report_header *h, const struct query *q)
{
	h->lost = q->lost_samples;
	h->idle = q->idle_skipped;
	h->lost_by_cause = report_header_list(h, q->lost_count, sizeof(*h->lost_by_cause));
	for (size_t i = 0; i < q->lost_count && !h->error; i++)
		h->lost_by_cause[h->lost_causes++] = (struct report_counter){
			report_header_text(h, q->lost[i].name), q->lost[i].value};
}

/* Interpreters whose frames could not be read, so that all their functions are the evaluator. */
static void describe_pythons(struct report_header *h, const struct query *q)
{
	static const char counter[] = "stacks.python.version.";

	for (size_t i = 0; i < q->trouble_count; i++) {
		const char *name = q->trouble[i].name, *minor = name + sizeof(counter) - 1;

		if (strncmp(name, counter, sizeof(counter) - 1) != 0)
			continue;
		report_header_note(h,
				   "functions of Python 3.%s are not named, only those of its "
				   "interpreter: the frame layout of this version or build is not "
				   "known (that of usual builds of 3.8 to 3.13 is)",
				   strcmp(minor, "0") ? minor : "7 to 3.10");
	}
}

static void describe_troubles(struct report_header *h, const struct query *q)
{
	describe_pythons(h, q);
	for (size_t i = 0; i < q->trouble_count; i++) {
		const struct counter *c = counters_find(q->trouble[i].name);
		uint64_t count = q->trouble[i].value;

		if (c && c->told.one)
			report_header_note(h, "%llu %s %s",
					   TEXT_COUNT(count, c->told.one, c->told.many),
					   c->told.rest);
	}
}

/* Where accesses were served, and what they cost, as the processor said. */
static void describe_memory(struct report_header *h, const struct query_event *e)
{
	char text[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < e->memory_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llu",
					 i ? ", " : "", e->memory[i].name,
					 (unsigned long long)e->memory[i].value);
	if (e->memory_count)
		report_header_note(h, "%s: memory accesses, by where they were served: %s",
				   e->label, text);
	if (e->weights && e->weight_sum)
		report_header_note(h,
				   "%s: mean weight %.1f of %llu %s (of memory accesses: "
				   "cycles of latency)",
				   e->label, (double)e->weight_sum / (double)e->weights,
				   TEXT_COUNT(e->weights, "sample", "samples"));
}

/* Causes are counted as samples were taken; events are counted at one period and with ticks joined.
 */
static void describe_unknown(struct report_header *h, const struct query *q)
{
	uint64_t taken = 0, shown = 0;

	for (size_t i = 0; i < q->unknown_count; i++)
		taken = num_add_sat(taken, q->unknown[i].value);
	for (size_t i = 0; i < q->event_count; i++)
		shown = num_add_sat(shown, q->events[i].unknown);
	for (size_t i = 0; i < q->unknown_count; i++)
		report_header_note(h, "unknown, by cause%s: %s %llu",
				   taken == shown ? "" : ", as sampled", q->unknown[i].name,
				   (unsigned long long)q->unknown[i].value);
}

void report_describe_query(struct report_header *h, const struct query *q)
{
	describe_events(h, q);
	describe_losses(h, q);
	describe_unknown(h, q);
	describe_troubles(h, q);
	for (size_t i = 0; i < q->event_count; i++)
		describe_memory(h, &q->events[i]);
	if (q->refused)
		report_header_note(h, "%llu %s of events past the first %d left out",
				   TEXT_COUNT(q->refused, "sample", "samples"), QUERY_EVENTS_MAX);
}

void report_describe_reader(struct report_header *h, struct db_reader *reader)
{
	size_t count, more;
	const char *const *notes = db_reader_take_notes(reader, &count, &more);

	for (size_t i = 0; i < count; i++)
		report_header_note(h, "%s", notes[i]);
	if (more)
		report_header_note(h, REPORT_MORE_NOTES, TEXT_COUNT(more, "place", "places"));
}

void report_nothing_matches(struct report_header *h)
{
	report_header_note(h, "nothing matches the selection (culprit prof --by image shows what "
			      "there is)");
}

void report_describe_finder(struct report_header *h, const struct image_finder *f)
{
	struct image_finder_counts c = image_finder_counts(f);

	if (c.damaged)
		report_header_note(h, REPORT_KEPT_DAMAGED, TEXT_COUNT(c.damaged, "time", "times"));
}

static void describe_missing(struct report_header *h, const struct query *q)
{
	for (size_t i = 0; i < q->event_count; i++) {
		const struct query_event *e = &q->events[i];
		uint64_t missing = e->counted > e->samples ? e->counted - e->samples : 0;

		if (missing)
			report_header_note(h, "%s: %llu %s taken that %s not here", e->label,
					   TEXT_COUNT(missing, "sample was", "samples were"),
					   text_plural(missing, "is", "are"));
	}
}

void report_describe(struct report_header *h, const struct report_session *s)
{
	const struct db_epoch *const *epochs;
	size_t count;

	epochs = db_reader_selected(s->reader, &count);
	report_describe_epochs(h, epochs, count);
	report_describe_query(h, s->query);
	report_describe_reader(h, s->reader);
	if (db_reader_damages(s->reader))
		describe_missing(h, s->query);
	report_describe_finder(h, s->finder);
}

/* Children of what was sampled were left out: `record -p` of a server's parent. */
static bool has_left_out(const struct query *q)
{
	for (size_t i = 0; i < q->trouble_count; i++)
		if (!strcmp(q->trouble[i].name, "scope.left_out"))
			return true;
	return false;
}

void report_describe_absent(struct report_header *h, const char *before, const char *what,
			    size_t images, const struct diag *why)
{
	if (images)
		report_header_note(h, "%sno %s of %llu image%s: %s", before, what,
				   TEXT_COUNT(images, "", "s, first"), why->text);
}

void report_set_image(struct table *t, int column, int id_column, const struct query_image *image)
{
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&image->id, id);
	table_set_name(t, column, image->path, image->path_size);
	table_set_text(t, id_column, id);
}

void report_describe_rank(struct report_header *h, const struct query *q, const struct rank *k,
			  bool idle)
{
	for (size_t i = 0; i < q->event_count; i++)
		h->idle = num_add_sat(h->idle, k->idle[i]);
	if (h->idle && !idle)
		report_header_note(h, "idle time is left out of table and percentages (--idle)");
	if (q->event_count && !k->totals[0] && !h->idle)
		report_header_note(h,
				   has_left_out(q)
					   ? "there are no samples of %s: what was sampled "
					     "did not run, or only its children did"
					   : "there are no samples of %s: record for longer, "
					     "or sample more often (-F HZ, or -e %s:PERIOD)",
				   q->events[0].label, q->events[0].name);
	if (q->event_count && !k->row_count && k->totals[0])
		report_nothing_matches(h);
	else if (q->event_count && k->ranked[0] < k->totals[0])
		report_header_note(h, "the selection has %.2f%% of the samples%s",
				   100 * (double)k->ranked[0] / (double)k->totals[0],
				   k->row_count && k->rows[0].inclusive ? " as its own" : "");
	report_describe_absent(h, "", "symbols", k->images_without_symbols, &k->symbols_reason);
	report_describe_absent(h, "", "lines", k->images_without_lines, &k->lines_reason);
	report_describe_absent(h, "", "code", k->images_without_graphs, &k->graphs_reason);
	if (k->functions_incomplete)
		report_header_note(
			h,
			"%llu %s jumps whose targets are not known: loops "
			"through them are not seen",
			TEXT_COUNT(k->functions_incomplete, "function has", "functions have"));
}

static void describe_quality(const struct stack_quality *q, struct report_header *h)
{
	double all = q->stacks ? (double)q->stacks : 1;
	struct buf b;

	buf_init(&b, 4096);
	for (size_t i = 0; i < q->reasons; i++)
		buf_printf(&b, "%s %s %" PRIu64, i ? "," : "; truncated:", q->truncated[i].name,
			   q->truncated[i].stacks);
	report_header_note(
		h, "%llu %s, %.2f%% complete%.*s", TEXT_COUNT(q->stacks, "stack", "stacks"),
		100 * (double)q->complete / all, (int)b.size, b.data ? (char *)b.data : "");
	buf_free(&b);
	if (q->gapped)
		report_header_note(h,
				   "%llu %s so deep that frames in the middle "
				   "were not kept",
				   TEXT_COUNT(q->gapped, "stack is", "stacks are"));
}

static void describe_lost(const struct query *q, struct report_header *h)
{
	for (size_t i = 0; i < q->trouble_count; i++)
		if (!strcmp(q->trouble[i].name, "stacks.lost"))
			report_header_note(
				h, "%llu %s taken and lost",
				TEXT_COUNT(q->trouble[i].value, "stack was", "stacks were"));
}

static void describe_weights(const struct stack_set *s, struct report_header *h)
{
	const struct query *q = s->query;
	uint64_t samples = 0;

	for (size_t i = 0; i < s->count_count; i++)
		samples = num_add_sat(samples, s->counts[i].count);
	if (samples != s->quality.stacks)
		report_header_note(
			h, "they stand for %llu %s: each for those of the function that it ends in",
			TEXT_COUNT(samples, "sample", "samples"));
	for (size_t e = 0; e < q->event_count; e++)
		if (s->unplaced[e] && s->totals[e])
			report_header_note(
				h,
				"%s: %.2f%% of the samples are in functions that no stack "
				"ends in: what called them stands above " STACK_CALLERS_UNKNOWN
				" as far as is known (record more: --stack-rate)",
				q->events[e].label,
				100 * (double)s->unplaced[e] / (double)s->totals[e]);
}

void report_describe_stacks(struct report_header *h, const struct stack_set *s)
{
	describe_quality(&s->quality, h);
	describe_weights(s, h);
	describe_lost(s->query, h);
}

int report_fail_no_stacks(struct diag *diag)
{
	return diag_fail(diag, ENODATA,
			 "there are no stacks in these epochs and this selection: record takes "
			 "them unless told --no-stacks (see: culprit doctor), and an import has "
			 "those of its file (perf record -g)");
}

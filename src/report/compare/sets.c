/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "analyze/query/event_mode.h"
#include "report/describe.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

#define NAMES_MAX_BYTES ((size_t)64 << 20)

/* Sets of one database share what was found of its images. */
struct sets_finder {
	struct sets_finder *next;
	const char *path, *machine;
	struct image_finder *finder;
};

static void set_free(struct set *one)
{
	if (!one)
		return;
	rank_free(one->rank);
	one->session.finder = NULL; /* the sets' */
	report_session_close(&one->session);
	free(one);
}

void sets_free(struct sets *s)
{
	struct sets_finder *f;

	for (size_t i = 0; i < s->count; i++)
		set_free(s->list[i]);
	free(s->list);
	while ((f = s->finders)) {
		s->finders = f->next;
		image_finder_free(f->finder);
		free(f);
	}
	arena_free(s->memory);
	*s = (struct sets){0};
}

/* A new set at the end. */
static int new_set(struct sets *s, const struct report_options *options, const char *name,
		   struct set **ret, struct diag *diag)
{
	struct set *one = NULL;

	if (s->count == SETS_MAX)
		return diag_fail(diag, E2BIG, "more than %d sets", SETS_MAX);
	if (!s->memory)
		s->memory = arena_new(NAMES_MAX_BYTES);
	if (s->memory && !array_grow_short(&s->list, s->count, sizeof(struct set *)))
		one = calloc(1, sizeof(*one));
	if (!one)
		return diag_fail(diag, ENOMEM, "out of memory");
	one->name = name;
	one->weight = 1;
	one->report = *options;
	one->report.selection.subjects = one->report.subjects;
	one->session = (struct report_session){.options = &one->report, .progress = s->progress};
	s->list[s->count++] = one;
	*ret = one;
	return 0;
}

/* DB, DB@EPOCHS, @EPOCHS or EPOCHS. */
static int take_place(struct set *one, char *place, struct diag *diag)
{
	char *at = strrchr(place, '@');
	struct stat st;

	if (!*place)
		return 0;
	if (!stat(place, &st)) {
		one->report.db = place;
	} else if (at) {
		*at = 0;
		if (at > place)
			one->report.db = place;
		one->report.epoch = at + 1;
		if (!at[1])
			return diag_fail(diag, EINVAL, "set '%s' names no epoch after @",
					 one->name);
	} else if (strchr(place, '/')) {
		return diag_fail(diag, ENOENT, "set '%s': there is no such database", one->name);
	} else {
		one->report.epoch = place;
	}
	return 0;
}

static int take_restriction(struct set *one, char *text, struct diag *diag)
{
	static const char label[] = "label:", machine[] = "machine=";

	if (!strchr(text, '='))
		return diag_fail(diag, EINVAL, "set '%s': '%s' is not KEY=GLOB", one->name, text);
	if (!strncmp(text, machine, sizeof(machine) - 1)) {
		one->report.machine = text + sizeof(machine) - 1;
		return 0;
	}
	if (!strncmp(text, label, sizeof(label) - 1))
		text[sizeof(label) - 2] = '.';
	one->report.selection.subject_own++;
	return report_add_subject(&one->report, text, diag);
}

int sets_add(struct sets *s, const struct report_options *base, const char *text, struct diag *diag)
{
	struct set *one;
	char *copy, *rest, *part;
	struct stat st;
	int r = new_set(s, base, text, &one, diag);

	if (r)
		return r;
	copy = rest = arena_strndup(s->memory, text, strlen(text));
	if (!copy)
		return diag_fail(diag, ENOMEM, "out of memory");
	if (!one->report.epoch)
		one->report.epoch = "all";
	/* A name that is one of a file is that, whatever is in it. */
	if (!stat(text, &st))
		return take_place(one, copy, diag);
	for (bool first = true; !r && (part = strsep(&rest, ",")); first = false) {
		if (first && !strchr(part, '='))
			r = take_place(one, part, diag);
		else
			r = take_restriction(one, part, diag);
	}
	return r;
}

static int split_one(struct sets *s, const struct set *one, bool alone, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	struct report_options own = one->report;
	const struct query_selection everything = {0};
	struct report_session session = {.options = &one->report};
	struct set *part;
	const char *name;
	size_t count = 0;
	int r = report_session_select(&session, &everything, QUERY_WHOLE, diag);

	if (!r)
		epochs = db_reader_selected(session.reader, &count);
	for (size_t i = 0; i < count && !r; i++) {
		const struct db_epoch *e = epochs[i];

		if (!e->files) /* it never had data */
			continue;
		own.epoch = arena_strndup(s->memory, e->name, strlen(e->name));
		own.machine = arena_strndup(s->memory, e->machine, strlen(e->machine));
		name = own.db && !alone ? arena_printf(s->memory, "%s@%s", own.db, e->name)
					: own.epoch;
		if (!own.epoch || !own.machine || !name)
			r = diag_fail(diag, ENOMEM, "out of memory");
		else
			r = new_set(s, &own, name, &part, diag);
	}
	report_session_close(&session);
	return r;
}

int sets_split(struct sets *s, struct diag *diag)
{
	struct set **whole = s->list;
	size_t count = s->count;
	int r = 0;

	s->list = NULL;
	s->count = 0;
	for (size_t i = 0; i < count && !r; i++)
		r = split_one(s, whole[i], count == 1, diag);
	for (size_t i = 0; i < count; i++)
		set_free(whole[i]);
	free(whole);
	return r;
}

/* The finder of a database and machine, made when it is not there yet. */
static int find_finder(struct sets *s, struct set *one, const char *machine, struct diag *diag)
{
	struct sets_finder *f = s->finders;
	int r;

	while (f && (strcmp(f->path, one->session.path) != 0 || strcmp(f->machine, machine) != 0))
		f = f->next;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return diag_fail(diag, ENOMEM, "out of memory");
		f->next = s->finders;
		s->finders = f;
		f->path = arena_strndup(s->memory, one->session.path, strlen(one->session.path));
		f->machine = arena_strndup(s->memory, machine, strlen(machine));
		r = f->path && f->machine
			    ? image_finder_new(f->path, *machine ? f->machine : NULL, &f->finder)
			    : -ENOMEM;
		if (r) {
			s->finders = f->next;
			free(f);
			return diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r));
		}
	}
	one->session.finder = f->finder;
	return 0;
}

static bool is_equal(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* The event of that name, with the first set's period where there are several. */
static uint32_t find_named(const struct query *q, const struct sets *s,
			   bool (*same)(const char *a, const char *b))
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = (uint32_t)q->event_count; i-- > 0;)
		if (same(q->events[i].name, s->event) &&
		    (best == UINT32_MAX || q->events[best].period != s->period))
			best = i;
	return best;
}

/* Which of its events is compared: the first set's first, and the others' of that name, or that
 * stands for the same. */
static int find_event(struct sets *s, struct set *one, struct diag *diag)
{
	const struct query *q = one->session.query;
	uint32_t best;

	if (!q->event_count)
		return diag_fail(diag, ENODATA, "set '%s' has no samples", one->name);
	if (!s->event) {
		s->event = q->events[0].name;
		s->period = q->events[0].period;
	}
	best = find_named(q, s, is_equal);
	if (best == UINT32_MAX)
		best = find_named(q, s, event_mode_same);
	if (best == UINT32_MAX)
		return diag_fail(diag, ENODATA,
				 "set '%s' has no samples of %s, which the first set has; name an "
				 "event that all have (--event)",
				 one->name, s->event);
	one->event = best;
	return 0;
}

/* How long its commands ran; where that was not noted, how long was sampled. */
static double find_seconds(const struct set *one)
{
	const struct db_epoch *const *epochs;
	double ns = 0;
	size_t count;

	epochs = db_reader_selected(one->session.reader, &count);
	if (one->session.query->wall_epochs == count && one->session.query->wall_ns)
		return (double)one->session.query->wall_ns / 1e9;
	for (size_t i = 0; i < count; i++)
		if (epochs[i]->end_ns > epochs[i]->start_ns)
			ns += (double)(epochs[i]->end_ns - epochs[i]->start_ns);
	return ns / 1e9;
}

static int rank_one(struct sets *s, struct set *one, const struct rank_options *options,
		    struct diag *diag)
{
	const struct db_epoch *const *epochs;
	struct rank_source source;
	struct diag why = {""};
	size_t count;
	int r = report_session_select(&one->session, NULL, rank_group(options->by), &why);

	if (!r)
		r = query_read(one->session.query, one->session.reader, &why);
	if (r && !one->report.db && !one->session.path && r == -ENOENT)
		return diag_fail(
			diag, ENOENT,
			"set '%s' is not an existing database; as an epoch or labels of one: %s",
			one->name, why.text);
	if (r)
		return diag_fail(diag, -r, "set '%s': %s", one->name, why.text);
	epochs = db_reader_selected(one->session.reader, &count);
	r = find_finder(s, one, count ? epochs[0]->machine : "", diag);
	if (!r)
		r = find_event(s, one, diag);
	if (r)
		return r;
	source = report_session_source(&one->session);
	r = rank_new(one->session.query, options, &source, &one->rank, diag);
	if (r)
		return r;
	one->samples = one->rank->totals[one->event];
	one->seconds = find_seconds(one);
	return 0;
}

int sets_rank(struct sets *s, const struct rank_options *options, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; i < s->count && !r; i++)
		r = rank_one(s, s->list[i], options, diag);
	return r;
}

int sets_weigh(struct sets *s, enum sets_normal normal, struct diag *diag)
{
	double sum = 0, size;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->count; i++) {
			struct set *one = s->list[i];
			const struct query_event *e = &one->session.query->events[one->event];

			size = normal == SETS_BY_TIME ? one->seconds : (double)one->samples;
			if (normal != SETS_AS_THEY_ARE && !(size > 0))
				return diag_fail(diag, ENODATA, "set '%s': %s", one->name,
						 normal == SETS_BY_TIME
							 ? "how long it lasted is not known"
							 : "it has no samples");
			if (pass == 0) {
				sum += size;
				continue;
			}
			one->weight = query_event_scale(e);
			if (e->period && s->period)
				one->weight *= (double)e->period / (double)s->period;
			if (normal == SETS_BY_TIME)
				one->weight *= sum / (double)s->count / size;
			else if (normal == SETS_BY_SAMPLES)
				one->weight = sum / (double)s->count / size;
		}
	}
	return 0;
}

static void describe_epochs(const struct sets *s, struct report_header *h)
{
	const struct db_epoch **all, *const *epochs;
	size_t total = 0, count;

	for (size_t i = 0; i < s->count; i++) {
		db_reader_selected(s->list[i]->session.reader, &count);
		total += count;
	}
	all = report_header_list(h, total, sizeof(*all));
	total = 0;
	for (size_t i = 0; all && i < s->count; i++) {
		epochs = db_reader_selected(s->list[i]->session.reader, &count);
		memcpy(all + total, epochs, count * sizeof(*all));
		total += count;
	}
	report_describe_epochs(h, all, total);
	free(all);
}

static void describe_event(const struct sets *s, struct report_header *h)
{
	struct report_event *to = h->events = report_header_list(h, 1, sizeof(*h->events));

	if (!to)
		return;
	h->event_count = 1;
	*to = (struct report_event){
		report_header_text(h, s->event), s->period, true, true, 0, 0, 1};
	for (size_t i = 0; i < s->count; i++) {
		const struct set *one = s->list[i];
		const struct query_event *e = &one->session.query->events[one->event];

		to->samples = num_add_sat(to->samples, e->samples);
		to->lost = num_add_sat(to->lost, e->lost);
		to->precise &= (e->flags & DB_EVENT_PRECISE) != 0;
		to->randomized &= (e->flags & DB_EVENT_RANDOMIZED) != 0;
		h->unknown = num_add_sat(h->unknown, e->unknown);
		h->idle = num_add_sat(h->idle, one->rank->idle[one->event]);
		h->idle = num_add_sat(h->idle, one->session.query->idle_skipped);
		if (e->period != s->period)
			report_header_note(h,
					   "set %zu was sampled once in %llu: its samples are "
					   "counted as %.4g each",
					   i + 1, (unsigned long long)e->period,
					   (double)e->period / (double)s->period);
	}
	h->samples = to->samples;
	h->lost = to->lost;
}

static void describe_notes(struct db_reader *reader, size_t number, struct report_header *h)
{
	size_t count, more;
	const char *const *notes = db_reader_take_notes(reader, &count, &more);

	for (size_t i = 0; i < count; i++)
		report_header_note(h, "set %zu: %s", number, notes[i]);
	if (more)
		report_header_note(h, "set %zu: " REPORT_MORE_NOTES, number,
				   TEXT_COUNT(more, "place", "places"));
}

static void describe_faults(const struct sets *s, struct report_header *h)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct rank *k = s->list[i]->rank;
		char before[32];

		describe_notes(s->list[i]->session.reader, i + 1, h);
		snprintf(before, sizeof(before), "set %zu: ", i + 1);
		report_describe_absent(h, before, "symbols", k->images_without_symbols,
				       &k->symbols_reason);
		report_describe_absent(h, before, "lines", k->images_without_lines,
				       &k->lines_reason);
		report_describe_absent(h, before, "code", k->images_without_graphs,
				       &k->graphs_reason);
	}
	for (const struct sets_finder *f = s->finders; f; f = f->next)
		report_describe_finder(h, f->finder);
}

void sets_describe(const struct sets *s, bool idle, struct report_header *h)
{
	describe_event(s, h);
	describe_epochs(s, h);
	h->sets = report_header_list(h, s->count, sizeof(*h->sets));
	for (size_t i = 0; h->sets && i < s->count; i++) {
		const struct set *one = s->list[i];

		h->sets[h->set_count++] = (struct report_set){report_header_text(h, one->name),
							      one->samples, one->seconds};
	}
	if (h->idle && !idle)
		report_header_note(h, "idle time is left out (--idle)");
	describe_faults(s, h);
}

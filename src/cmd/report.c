/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cfg/open.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "config.h"
#include "util/num.h"
#include "util/text.h"

int report_take_option(struct report_options *o, int value, const char *text, struct diag *diag)
{
	switch (value) {
	case 'i':
		o->db = text;
		return *text ? 0 : diag_fail(diag, EINVAL, "the database's name is empty");
	case REPORT_EPOCH:
		o->epoch = text;
		return 0;
	case REPORT_EVENT:
		o->selection.event = text;
		return 0;
	case REPORT_IMAGE:
		o->selection.image = text;
		return 0;
	case REPORT_FUNCTION:
		o->function = text;
		return 0;
	case REPORT_SUBJECT:
		if (o->selection.subject_count == REPORT_SUBJECTS_MAX)
			return diag_fail(diag, EINVAL, "more than %d subjects",
					 REPORT_SUBJECTS_MAX);
		o->subjects[o->selection.subject_count++] = text;
		o->selection.subjects = o->subjects;
		return 0;
	case REPORT_MACHINE:
		o->machine = text;
		return 0;
	case REPORT_JSON:
	case REPORT_CSV:
		if (o->format != TABLE_TEXT)
			return diag_fail(diag, EINVAL, "one of --json and --csv, once");
		o->format = value == REPORT_JSON ? TABLE_JSON : TABLE_CSV;
		return 0;
	}
	return -ENOENT;
}

int report_find_db(const char *named, const char **ret_path, struct diag *diag)
{
	static const char *const usual[] = {"culprit.db", CULPRIT_STATE_DIR};
	const char *variable = getenv("CULPRIT_DB");
	struct stat st;

	if (!named && variable && *variable)
		named = variable;
	for (size_t i = 0; i < 2 && !named; i++) {
		if (!stat(usual[i], &st))
			named = usual[i];
	}
	if (!named)
		return diag_fail(diag, ENOENT,
				 "there is no database: neither ./culprit.db nor " CULPRIT_STATE_DIR
				 " exists; make one (culprit record -a) or name one (-i DB)");
	*ret_path = named;
	return 0;
}

int report_open(const struct report_options *o, const char **ret_path, struct db_reader **ret,
		struct diag *diag)
{
	struct db_reader *reader;
	const char *path;
	int r;

	r = report_find_db(o->db, &path, diag);
	if (!r)
		r = db_reader_open(path, &io_system, &reader, diag);
	if (r)
		return r;
	r = db_reader_set_machine(reader, o->machine);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = db_reader_select(reader, o->epoch ? o->epoch : "last", diag);
	if (r) {
		report_close(reader);
		return r;
	}
	*ret_path = path;
	*ret = reader;
	return 0;
}

uint64_t report_sampled_ns(const struct db_reader *reader)
{
	const struct db_epoch *const *epochs;
	uint64_t last = 0;
	size_t count;

	epochs = db_reader_selected(reader, &count);
	for (size_t i = 0; i < count; i++)
		last = epochs[i]->end_ns > last ? epochs[i]->end_ns : last;
	return last;
}

static int find_symbols(void *arg, const struct image_id *id, const char *path,
			const struct image_symbols **ret, struct diag *diag)
{
	progress_show("culprit: reading symbols of %s", path ? path : "an image");
	return image_find_symbols(arg, id, path, ret, diag);
}

static int find_lines(void *arg, const struct image_id *id, const char *path,
		      const uint64_t *addresses, size_t count, struct image_lines **ret,
		      struct diag *diag)
{
	progress_show("culprit: reading lines of %s", path ? path : "an image");
	return image_find_lines(arg, id, path, addresses, count, ret, diag);
}

static int find_graphs(void *arg, const struct image_id *id, const char *path,
		       struct cfg_image **ret, struct diag *diag)
{
	progress_show("culprit: reading code of %s", path ? path : "an image");
	return cfg_image_open(arg, id, path, ret, diag);
}

struct rank_source report_source(struct image_finder *finder)
{
	return (struct rank_source){find_symbols, find_lines, find_graphs, finder};
}

/* The name among those of the list that is split by ", ", added if it is not. */
static int add_machine(char **list, const char *name)
{
	size_t size = strlen(name);
	char *longer;

	for (const char *p = *list; p && *p; p += strcspn(p, ",") + 2) {
		if (strcspn(p, ",") == size && !strncmp(p, name, size))
			return 0;
		if (!p[strcspn(p, ",")])
			break;
	}
	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? ", " : "", name) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

int report_describe_epochs(struct report_header *h, const struct db_epoch *const *epochs,
			   size_t count)
{
	progress_clear();
	h->epochs = calloc(count + 1, sizeof(*h->epochs));
	if (!h->epochs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct db_epoch *e = epochs[i];

		h->epochs[i] = strdup(e->name);
		if (!h->epochs[i])
			return -ENOMEM;
		h->epoch_count++;
		if (!i || e->start_ns < h->start_ns)
			h->start_ns = e->start_ns;
		if (e->end_ns > h->end_ns)
			h->end_ns = e->end_ns;
		if (add_machine(&h->machine, e->machine))
			return -ENOMEM;
	}
	return 0;
}

static int describe_events(struct report_header *h, const struct query *q)
{
	bool twins = false;

	h->events = calloc(q->event_count + 1, sizeof(*h->events));
	if (!h->events)
		return -ENOMEM;
	for (size_t i = 0; i < q->event_count; i++) {
		const struct query_event *e = &q->events[i];

		h->events[i] = (struct report_event){
			.name = strdup(e->label),
			.period = e->period,
			.precise = e->flags & DB_EVENT_PRECISE,
			.randomized = e->flags & DB_EVENT_RANDOMIZED,
			.samples = e->samples,
			.lost = e->lost,
			.scale = query_event_scale(e),
		};
		if (!h->events[i].name)
			return -ENOMEM;
		h->event_count++;
		h->samples = num_add_sat(h->samples, e->samples);
		h->unknown = num_add_sat(h->unknown, e->unknown);
		twins |= e->label != e->name;
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
	return 0;
}

static int describe_losses(struct report_header *h, const struct query *q)
{
	h->lost = q->lost_samples;
	h->idle = q->idle_skipped;
	h->lost_by_cause = calloc(q->lost_count + 1, sizeof(*h->lost_by_cause));
	if (!h->lost_by_cause)
		return -ENOMEM;
	for (size_t i = 0; i < q->lost_count; i++) {
		h->lost_by_cause[i].name = strdup(q->lost[i].name);
		h->lost_by_cause[i].value = q->lost[i].value;
		if (!h->lost_by_cause[i].name)
			return -ENOMEM;
		h->lost_causes++;
	}
	return 0;
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
				   "interpreter: how the frames of this version, or of this build "
				   "of it, are laid out is not known here (of usual builds of 3.8 "
				   "to 3.13 it is)",
				   strcmp(minor, "0") ? minor : "7 to 3.10");
	}
}

static void describe_troubles(struct report_header *h, const struct query *q)
{
	static const struct {
		const char *name, *text;
	} known[] = {
		{"records.lost", "records of what processes did were lost by the kernel"},
		{"records.malformed", "records of what processes did made no sense"},
		{"scope.refused", "processes were not followed: too many at a time"},
		{"scope.left_out",
		 "processes that came of those sampled before sampling began were left out (record "
		 "--tree samples them too)"},
		{"processes.refused", "processes were not known: too many at a time"},
		{"mappings.refused", "mappings of code were not kept: too many"},
		{"files.refused", "mappings were of files that were not looked at: too many"},
		{"files.crowded",
		 "times a file had to wait to be looked at, because its user had too many of them"},
		{"named.late",
		 "samples are charged to a file by its name alone, since it was not known in time "
		 "what it is"},
		{"records.cut",
		 "mappings and names of processes that made too many a second were not followed"},
		{"cgroups.refused",
		 "processes are charged without their cgroup: its name is too long"},
		{"threads.refused",
		 "samples have their process and not their thread's name: too many names"},
		{"symbols.refused",
		 "times the symbols of an image could not be kept: too many wait"},
		{"code.refused",
		 "times the code of functions could not be kept: their image has more than is, or "
		 "the disk is nearly full"},
		{"lines.refused", "times the lines of functions could not be kept: their image has "
				  "more than are, or "
				  "the disk is nearly full"},
		{"symbols.unwritten",
		 "times symbols, code or lines of an image could not be written to the database "
		 "(was its disk full?): they are found only while its file is there"},
		{"kernel.refused", "modules or programs of the kernel were not known: too many"},
		{"edges.lost", "windows of branch outcomes were taken and lost"},
		{"edges.damaged",
		 "passes of branches were lost: their part of the database is damaged"},
		{"stacks.damaged", "stacks were lost: their part of the database is damaged"},
		{"raw.damaged", "raw records were lost: their part of the database is damaged"},
		{"edges.refused", "windows of branch outcomes made no sense"},
		{"stacks.python.refused",
		 "functions of Python were not known: they made no sense, or were too many"},
		{"notices.lost", "moves between cgroups were missed"},
		{"cpus.missed_s", "seconds of CPUs that came online later were not sampled"},
	};

	describe_pythons(h, q);
	for (size_t i = 0; i < q->trouble_count; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (!strcmp(q->trouble[i].name, known[k].name))
				report_header_note(h, "%llu %s",
						   (unsigned long long)q->trouble[i].value,
						   known[k].text);
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
				   "%s: mean weight %.1f of %llu samples (of memory accesses: "
				   "cycles of latency)",
				   e->label, (double)e->weight_sum / (double)e->weights,
				   (unsigned long long)e->weights);
}

int report_describe_query(struct report_header *h, const struct query *q)
{
	int r = describe_events(h, q);

	if (!r)
		r = describe_losses(h, q);
	if (r)
		return r;
	for (size_t i = 0; i < q->unknown_count; i++)
		report_header_note(h, "unknown, by cause: %s %llu", q->unknown[i].name,
				   (unsigned long long)q->unknown[i].value);
	describe_troubles(h, q);
	for (size_t i = 0; i < q->event_count; i++)
		describe_memory(h, &q->events[i]);
	if (q->refused)
		report_header_note(h, "%llu samples of events past the first %d are left out",
				   (unsigned long long)q->refused, QUERY_EVENTS_MAX);
	return 0;
}

void report_describe_reader(struct report_header *h, struct db_reader *reader)
{
	size_t count, more;
	const char *const *notes = db_reader_take_notes(reader, &count, &more);

	for (size_t i = 0; i < count; i++)
		report_header_note(h, "%s", notes[i]);
	if (more)
		report_header_note(h, REPORT_MORE_NOTES, more);
}

static void tell(const char *note)
{
	char text[2048];

	text_escape_controls(text, sizeof(text), note, strlen(note));
	fprintf(stderr, "culprit: %s\n", text);
}

void report_tell_damage(const struct report_header *h)
{
	for (size_t i = 0; i < h->note_count; i++)
		if (!strncmp(h->notes[i], DB_NOTE_DAMAGED, strlen(DB_NOTE_DAMAGED)))
			tell(h->notes[i]);
}

void report_close(struct db_reader *reader)
{
	const char *const *notes;
	size_t count, more;

	if (!reader)
		return;
	notes = db_reader_take_notes(reader, &count, &more);
	for (size_t i = 0; i < count; i++)
		tell(notes[i]);
	if (more)
		fprintf(stderr, "culprit: " REPORT_MORE_NOTES "\n", more);
	db_reader_free(reader);
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
		report_header_note(h, REPORT_KEPT_DAMAGED, (unsigned long long)c.damaged);
}

void report_tell_finder(const struct image_finder *f)
{
	uint64_t damaged = f ? image_finder_counts(f).damaged : 0;

	if (damaged)
		fprintf(stderr, "culprit: " REPORT_KEPT_DAMAGED "\n", (unsigned long long)damaged);
}

static void describe_missing(struct report_header *h, const struct query *q)
{
	for (size_t i = 0; i < q->event_count; i++)
		if (q->events[i].counted > q->events[i].samples)
			report_header_note(
				h, "%s: %llu samples were taken that are not here",
				q->events[i].label,
				(unsigned long long)(q->events[i].counted - q->events[i].samples));
}

int report_describe(struct report_header *h, struct db_reader *reader, const struct query *q,
		    const struct image_finder *finder)
{
	const struct db_epoch *const *epochs;
	size_t count;
	int r;

	epochs = db_reader_selected(reader, &count);
	r = report_describe_epochs(h, epochs, count);
	if (!r)
		r = report_describe_query(h, q);
	if (r)
		return r;
	report_describe_reader(h, reader);
	if (db_reader_damages(reader))
		describe_missing(h, q);
	report_describe_finder(h, finder);
	return 0;
}

/* Children of what was sampled were left out: `record -p` of a server's parent. */
static bool has_left_out(const struct query *q)
{
	for (size_t i = 0; i < q->trouble_count; i++)
		if (!strcmp(q->trouble[i].name, "scope.left_out"))
			return true;
	return false;
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
	if (k->images_without_symbols)
		report_header_note(h, "no symbols of %zu image%s: %s", k->images_without_symbols,
				   k->images_without_symbols == 1 ? "" : "s, first",
				   k->symbols_reason.text);
	if (k->images_without_lines)
		report_header_note(h, "no lines of %zu image%s: %s", k->images_without_lines,
				   k->images_without_lines == 1 ? "" : "s, first",
				   k->lines_reason.text);
	if (k->images_without_graphs)
		report_header_note(h, "no code of %zu image%s: %s", k->images_without_graphs,
				   k->images_without_graphs == 1 ? "" : "s, first",
				   k->graphs_reason.text);
	if (k->functions_incomplete)
		report_header_note(h,
				   "%zu functions have jumps whose targets are not known: loops "
				   "through them are not seen",
				   k->functions_incomplete);
}

int report_print(const struct table *t, const struct report_header *h, enum table_format format)
{
	struct diag diag;
	int r;

	progress_clear();
	if (format == TABLE_CSV)
		report_header_print(h, stderr, 0);
	r = table_print(t, h, format, stdout, format == TABLE_TEXT ? pager_width() : 0);
	if (r == -ENOMEM) {
		diag_fail(&diag, ENOMEM, "out of memory");
		return cmd_fail(&diag);
	}
	/* Other errors are of stdout; whoever flushes it tells. */
	return r ? CMD_FAILURE : CMD_OK;
}

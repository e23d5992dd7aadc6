/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cmd/report.h"
#include "util/buf.h"

/* culprit epochs: what a database holds, an epoch a row. */

#define EVENT_NAMES_MAX_BYTES 4096

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"epoch", REPORT_EPOCH, "EPOCHS", "all (default), last, NAME or its beginning, FROM..TO"},
	REPORT_MACHINE_OPTION,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_epochs_spec = {
	"epochs", "",	 "Shows what a database holds, an epoch a row, the oldest first.",
	options,  false,
};

struct listing {
	struct report_options report;
	struct report_header header;
	const struct db_epoch *const *epochs;
	struct buf *events; /* of each epoch: "cycles, cache-misses" */
	uint64_t *windows;  /* of each: samples that were followed */
	size_t count;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	return report_take_option(arg, value, text, diag);
}

/* Adds a name to a list unless it is in there. */
static void add_name(struct buf *list, const char *name)
{
	size_t size = strlen(name);
	const char *at = (const char *)list->data, *end = at + list->size, *comma;

	for (; at && at < end; at = comma + 2) {
		comma = memmem(at, (size_t)(end - at), ", ", 2);
		if (!comma)
			comma = end;
		if ((size_t)(comma - at) == size && !memcmp(at, name, size))
			return;
		if (comma == end)
			break;
	}
	buf_printf(list, "%s%s", list->size ? ", " : "", name);
}

/* No rows are wanted, only to have seen which profiles there are. */
static bool see_profile(void *arg, const struct db_profile *p)
{
	struct listing *l = arg;

	for (size_t i = 0; i < l->count; i++) {
		if (!strcmp(l->epochs[i]->name, p->epoch))
			add_name(&l->events[i], p->event->name);
	}
	return false;
}

static int skip_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
		     const uint64_t *counts, size_t n)
{
	(void)arg, (void)p, (void)offsets, (void)counts, (void)n;
	return 0;
}

/* Each window has a start. */
static int see_edges(void *arg, const struct db_profile *p, const struct db_edge_row *rows,
		     size_t n)
{
	struct listing *l = arg;
	uint64_t starts = 0;

	for (size_t i = 0; i < n; i++)
		starts += rows[i].from == DB_EDGE_START ? rows[i].count : 0;
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->epochs[i]->name, p->epoch))
			l->windows[i] += starts;
	return 0;
}

static void see_damage(void *arg, const char *what)
{
	struct listing *l = arg;

	report_header_note(&l->header, "damaged: %s", what);
}

static void format_time(uint64_t time_ns, char out[40])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;

	*out = 0;
	if (gmtime_r(&seconds, &tm))
		strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static struct table *make_table(const struct listing *l)
{
	struct table *t = table_new("epochs");
	char start[40];

	if (!t)
		return NULL;
	table_add_column(t, TABLE_NAME, "name", "epoch");
	table_add_column(t, TABLE_NAME, "start", "start");
	table_add_column(t, TABLE_REAL, "seconds", "seconds");
	table_add_column(t, TABLE_COUNT, "samples", "samples");
	table_add_column(t, TABLE_COUNT, "windows", "windows");
	table_add_column(t, TABLE_COUNT, "bytes", "bytes");
	table_add_column(t, TABLE_COUNT, "files", "files");
	table_add_column(t, TABLE_COUNT, "sealed", NULL);
	table_add_column(t, TABLE_NAME, NULL, "state");
	table_add_column(t, TABLE_NAME, "events", "events");
	table_add_column(t, TABLE_NAME, "machine", "machine");
	for (size_t i = 0; i < l->count; i++) {
		const struct db_epoch *e = l->epochs[i];
		const char *state = e->sealed ? "sealed" : "open";

		format_time(e->start_ns, start);
		if (table_add_row(t) || table_set_name(t, 0, e->name, strlen(e->name)) ||
		    table_set_name(t, 1, start, strlen(start)) ||
		    table_set_name(t, 8, state, strlen(state)) ||
		    table_set_name(t, 9, (char *)l->events[i].data, l->events[i].size) ||
		    table_set_name(t, 10, e->machine, strlen(e->machine))) {
			table_free(t);
			return NULL;
		}
		table_set_real(t, 2,
			       e->end_ns > e->start_ns ? (double)(e->end_ns - e->start_ns) / 1e9
						       : 0);
		table_set_count(t, 3, e->samples);
		table_set_count(t, 4, l->windows[i]);
		table_set_count(t, 5, e->bytes);
		table_set_count(t, 6, e->files);
		table_set_count(t, 7, e->sealed);
	}
	return t;
}

static int show(struct listing *l, struct db_reader *reader, struct diag *diag)
{
	struct db_visitor visitor = {.want = see_profile,
				     .rows = skip_rows,
				     .edges = see_edges,
				     .damage = see_damage,
				     .arg = l};
	struct table *t = NULL;
	int r;

	l->epochs = db_reader_selected(reader, &l->count);
	l->events = calloc(l->count + 1, sizeof(*l->events));
	l->windows = calloc(l->count + 1, sizeof(*l->windows));
	if (!l->events || !l->windows)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < l->count; i++)
		buf_init(&l->events[i], EVENT_NAMES_MAX_BYTES);
	r = db_reader_query(reader, &visitor, diag);
	if (!r) {
		t = make_table(l);
		r = t ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	}
	if (!r)
		r = report_print(t, &l->header, l->report.format);
	table_free(t);
	return r;
}

int cmd_epochs(int argc, char **argv)
{
	struct listing l = {.report = {.epoch = "all"}};
	struct db_reader *reader = NULL;
	struct diag diag = {""};
	const char *path;
	int r;

	r = cmd_parse(&cmd_epochs_spec, argc, argv, take_option, &l.report, NULL);
	if (r >= 0)
		return r;
	r = report_open(&l.report, &path, &reader, &diag);
	if (!r)
		r = show(&l, reader, &diag);
	for (size_t i = 0; l.events && i < l.count; i++)
		buf_free(&l.events[i]);
	free(l.events);
	free(l.windows);
	report_header_free(&l.header);
	db_reader_free(reader);
	return r < 0 ? cmd_fail(&diag) : r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cmd/report.h"
#include "util/buf.h"
#include "util/num.h"

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

/* What only reading an epoch tells. */
struct contents {
	struct buf events; /* "cycles, cache-misses" */
	uint64_t windows;  /* samples that were followed */
	uint64_t lost, unknown;
};

struct listing {
	struct report_options report;
	struct report_header header;
	const struct db_epoch *const *epochs;
	struct contents *contents; /* of each */
	struct contents *current;  /* of the one that is shown */
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

static void see_epoch(void *arg, const struct db_epoch *epoch)
{
	struct listing *l = arg;

	for (size_t i = 0; i < l->count; i++)
		if (l->epochs[i] == epoch)
			l->current = &l->contents[i];
}

/* Of most profiles it is enough to have seen that there are some. */
static bool see_profile(void *arg, const struct db_profile *p)
{
	struct listing *l = arg;

	add_name(&l->current->events, p->event->name);
	return p->image->kind == IMAGE_UNKNOWN;
}

static int see_unknown(void *arg, const struct db_profile *p, const uint64_t *offsets,
		       const uint64_t *counts, size_t n)
{
	struct listing *l = arg;

	(void)p, (void)offsets;
	for (size_t i = 0; i < n; i++)
		l->current->unknown = num_add_sat(l->current->unknown, counts[i]);
	return 0;
}

static int see_counter(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	struct listing *l = arg;

	(void)event;
	if (!strncmp(name, "lost.", 5))
		l->current->lost = num_add_sat(l->current->lost, value);
	return 0;
}

/* Each window has a start. */
static int see_edges(void *arg, const struct db_profile *p, const struct db_edge_row *rows,
		     size_t n)
{
	struct listing *l = arg;

	(void)p;
	for (size_t i = 0; i < n; i++)
		if (rows[i].from == DB_EDGE_START)
			l->current->windows = num_add_sat(l->current->windows, rows[i].count);
	return 0;
}

static void format_time(uint64_t time_ns, char out[40])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;

	*out = 0;
	if (gmtime_r(&seconds, &tm))
		strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static int add_epoch(struct table *t, const struct db_epoch *e, const struct contents *c)
{
	const char *state = e->future ? "future" : e->sealed ? "sealed" : "open";
	char start[40];

	format_time(e->start_ns, start);
	if (table_add_row(t) || table_set_name(t, 0, e->name, strlen(e->name)) ||
	    table_set_name(t, 1, start, strlen(start)) ||
	    table_set_name(t, 10, state, strlen(state)) ||
	    table_set_name(t, 11, (char *)c->events.data, c->events.size) ||
	    table_set_name(t, 12, e->machine, strlen(e->machine)))
		return -ENOMEM;
	table_set_real(t, 2, e->end_ns > e->start_ns ? (double)(e->end_ns - e->start_ns) / 1e9 : 0);
	table_set_count(t, 3, e->samples);
	table_set_count(t, 4, c->lost);
	table_set_count(t, 5, c->unknown);
	table_set_count(t, 6, c->windows);
	table_set_count(t, 7, e->bytes);
	table_set_count(t, 8, e->files);
	table_set_count(t, 9, e->sealed);
	table_set_count(t, 13, e->future);
	return 0;
}

static struct table *make_table(const struct listing *l)
{
	struct table *t = table_new("epochs");

	if (!t)
		return NULL;
	table_add_column(t, TABLE_NAME, "name", "epoch");
	table_add_column(t, TABLE_NAME, "start", "start");
	table_add_column(t, TABLE_REAL, "seconds", "seconds");
	table_add_column(t, TABLE_COUNT, "samples", "samples");
	table_add_column(t, TABLE_COUNT, "lost", "lost");
	table_add_column(t, TABLE_COUNT, "unknown", "unknown");
	table_add_column(t, TABLE_COUNT, "windows", "windows");
	table_add_column(t, TABLE_COUNT, "bytes", "bytes");
	table_add_column(t, TABLE_COUNT, "files", "files");
	table_add_column(t, TABLE_COUNT, "sealed", NULL);
	table_add_column(t, TABLE_NAME, NULL, "state");
	table_add_column(t, TABLE_NAME, "events", "events");
	table_add_column(t, TABLE_NAME, "machine", "machine");
	table_add_column(t, TABLE_COUNT, "future", NULL);
	table_set_spare(t, 8, 1);
	table_set_spare(t, 6, 2);
	table_set_spare(t, 1, 3); /* the name has it too */
	for (size_t i = 0; i < l->count; i++)
		if (add_epoch(t, l->epochs[i], &l->contents[i])) {
			table_free(t);
			return NULL;
		}
	return t;
}

static int show(struct listing *l, struct db_reader *reader, struct diag *diag)
{
	struct db_visitor visitor = {.epoch = see_epoch,
				     .want = see_profile,
				     .rows = see_unknown,
				     .counter = see_counter,
				     .edges = see_edges,
				     .arg = l};
	struct table *t = NULL;
	int r;

	l->epochs = db_reader_selected(reader, &l->count);
	l->contents = calloc(l->count + 1, sizeof(*l->contents));
	if (!l->contents)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < l->count; i++)
		buf_init(&l->contents[i].events, EVENT_NAMES_MAX_BYTES);
	r = db_reader_query(reader, &visitor, diag);
	if (!r) {
		report_describe_reader(&l->header, reader);
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
	for (size_t i = 0; l.contents && i < l.count; i++)
		buf_free(&l.contents[i].events);
	free(l.contents);
	report_header_free(&l.header);
	report_close(reader);
	return r < 0 ? cmd_fail(&diag) : r;
}

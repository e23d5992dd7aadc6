/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/database/epochs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/describe.h"
#include "util/num.h"
#include "util/text.h"

#define EVENT_NAMES_MAX_BYTES 4096

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
	struct epochs_report *l = arg;

	for (size_t i = 0; i < l->count; i++)
		if (l->epochs[i] == epoch)
			l->current = &l->contents[i];
}

/* Of most profiles it is enough to have seen that there are some. */
static bool see_profile(void *arg, const struct db_profile *p)
{
	struct epochs_report *l = arg;

	add_name(&l->current->events, p->event->name);
	return p->image->kind == IMAGE_UNKNOWN;
}

static int see_unknown(void *arg, const struct db_profile *p, const uint64_t *offsets,
		       const uint64_t *counts, size_t n)
{
	struct epochs_report *l = arg;

	(void)p, (void)offsets;
	for (size_t i = 0; i < n; i++)
		l->current->unknown = num_add_sat(l->current->unknown, counts[i]);
	return 0;
}

static int see_counter(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	struct epochs_report *l = arg;

	(void)event;
	if (!strncmp(name, "lost.", 5))
		l->current->lost = num_add_sat(l->current->lost, value);
	return 0;
}

/* Each window has a start. */
static int see_edge(void *arg, const char *epoch, const void *item)
{
	const struct db_edge_item *e = item;
	struct epochs_report *l = arg;

	(void)epoch;
	if (e->from == DB_EDGE_START && e->evidence == DB_EVIDENCE_WINDOWS)
		l->current->windows = num_add_sat(l->current->windows, e->count);
	return 0;
}

static void add_epoch(struct table *t, const struct db_epoch *e, const struct epochs_contents *c)
{
	const char *state = e->future ? "future" : e->sealed ? "sealed" : "open";
	char start[40];

	text_format_time(e->start_ns, "%Y-%m-%dT%H:%M:%SZ", start, sizeof(start));
	table_add_row(t);
	table_set_text(t, 0, e->name);
	table_set_text(t, 1, start);
	table_set_real(t, 2, e->end_ns > e->start_ns ? (double)(e->end_ns - e->start_ns) / 1e9 : 0);
	table_set_count(t, 3, e->samples);
	table_set_count(t, 4, c->lost);
	table_set_count(t, 5, c->unknown);
	table_set_count(t, 6, c->windows);
	table_set_count(t, 7, e->bytes);
	table_set_count(t, 8, e->files);
	table_set_count(t, 9, e->sealed);
	table_set_text(t, 10, state);
	table_set_name(t, 11, (char *)c->events.data, c->events.size);
	table_set_text(t, 12, e->machine);
	table_set_count(t, 13, e->future);
}

static struct table *make_table(const struct epochs_report *l)
{
	struct table *t = table_new("epochs");

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
		add_epoch(t, l->epochs[i], &l->contents[i]);
	return t;
}

int epochs_make(struct report_session *s, struct epochs_report *ret, struct report_header *h,
		struct diag *diag)
{
	struct db_visitor visitor = {.epoch = see_epoch,
				     .want = see_profile,
				     .rows = see_unknown,
				     .counter = see_counter,
				     .item = {[CHUNK_EDGES] = see_edge},
				     .arg = ret};

	*ret = (struct epochs_report){0};
	int r = report_session_select(s, NULL, QUERY_WHOLE, diag);
	if (r)
		return r;
	ret->epochs = db_reader_selected(s->reader, &ret->count);
	ret->contents = calloc(ret->count + 1, sizeof(*ret->contents));
	if (!ret->contents)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < ret->count; i++)
		buf_init(&ret->contents[i].events, EVENT_NAMES_MAX_BYTES);
	r = db_reader_query(s->reader, &visitor, diag);
	if (r)
		return r;
	report_describe_reader(h, s->reader);
	ret->table = make_table(ret);
	return 0;
}

void epochs_free(struct epochs_report *r)
{
	for (size_t i = 0; r->contents && i < r->count; i++)
		buf_free(&r->contents[i].events);
	free(r->contents);
	table_free(r->table);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/scope.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fleet/ids.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/hash.h"

#define SQL_MAX	     (32u << 20)
#define ANSWER_MAX   ((size_t)1 << 30)
#define MACHINES_MAX (1u << 20)
#define SECOND_NS    1000000000ull
#define DAY_NS	     (86400 * SECOND_NS)

/* A time as it is written, ns since 1970: so long ago, or a day (its end: until). */
static int read_time(const char *text, bool until, uint64_t *ret, struct diag *diag)
{
	uint64_t number, unit, now = clock_wall_ns();
	struct tm day = {0};
	char *end;

	number = strtoull(text, &end, 10);
	unit = *end == 'h' ? 3600 : *end == 'd' ? 86400 : *end == 'w' ? 7 * 86400 : 0;
	if (end != text && unit && !end[1] && number <= now / SECOND_NS / unit) {
		*ret = now - number * unit * SECOND_NS;
		return 0;
	}
	end = strptime(text, "%Y-%m-%d", &day);
	if (!end || *end || day.tm_year < 70)
		return diag_fail(
			diag, EINVAL,
			"'%s' is no time: a day (2026-11-21), or how long ago (12h, 7d, 2w)", text);
	*ret = (uint64_t)timegm(&day) * SECOND_NS + (until ? DAY_NS - 1 : 0);
	return 0;
}

static int ask(struct fleet_server *s, const char *sql, struct buf *answer, struct diag *diag)
{
	return fleet_server_run(s, sql, NULL, answer, diag);
}

static int fail_row(struct diag *diag)
{
	return diag_fail(diag, EPROTO, "the server's answer ends within a row");
}

/* Numbers of the machines that match; a name that is not its number's is nobody's. */
static int find_machines(struct fleet_server *s, const char *glob, struct map64 *wanted,
			 struct diag *diag)
{
	struct buf answer;
	struct cursor c;
	char name[DB_PATH_MAX];
	int r;

	buf_init(&answer, ANSWER_MAX);
	r = ask(s, "SELECT DISTINCT machine, name FROM machines FORMAT RowBinary", &answer, diag);
	c = cursor_over(answer.data, answer.size);
	while (!r && cursor_left(&c)) {
		uint64_t number = cursor_u64(&c);
		size_t size = 0;
		const char *text = cursor_string(&c, sizeof(name) - 1, &size);

		if (c.error) {
			r = fail_row(diag);
			break;
		}
		snprintf(name, sizeof(name), "%.*s", (int)size, text);
		if (fleet_id_machine(name) == number && (!glob || !fnmatch(glob, name, 0)) &&
		    map64_put(wanted, number, 0))
			r = diag_fail(diag, ENOMEM, "too many machines");
	}
	buf_free(&answer);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int fleet_scope_machines(struct fleet_server *s, const char *glob, struct buf *ret,
			 struct diag *diag)
{
	struct buf answer;
	struct cursor c;
	char **names = NULL;
	size_t count = 0;
	int r;

	buf_init(&answer, ANSWER_MAX);
	r = ask(s, "SELECT DISTINCT machine, name FROM machines FORMAT RowBinary", &answer, diag);
	if (!r)
		names = calloc(answer.size / 9 + 1, sizeof(*names));
	c = cursor_over(answer.data, answer.size);
	while (!r && names && cursor_left(&c)) {
		uint64_t number = cursor_u64(&c);
		size_t size = 0;
		const char *text = cursor_string(&c, DB_PATH_MAX, &size);
		char *name = c.error ? NULL : strndup(text, size);

		if (name && fleet_id_machine(name) == number && (!glob || !fnmatch(glob, name, 0)))
			names[count++] = name;
		else
			free(name);
		if (c.error)
			r = fail_row(diag);
	}
	array_sort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		buf_append(ret, names[i], strlen(names[i]) + 1);
		free(names[i]);
	}
	free(names);
	buf_free(&answer);
	return r ? r : ret->error ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

struct epochs {
	struct fleet_scope *scope;
	struct map64 *machines;
	uint64_t since, until;
	struct buf list; /* ",NUMBER" of each that is wanted */
	bool all;	 /* none of the days was left out */
	uint16_t first, last;
};

static int take_epoch(struct epochs *e, struct cursor *c)
{
	const void *day = cursor_bytes(c, 2);
	uint64_t machine = cursor_u64(c), epoch = cursor_u64(c), start = cursor_u64(c),
		 end = cursor_u64(c), seen;
	uint16_t number = 0;

	if (c->error)
		return -EPROTO;
	memcpy(&number, day, sizeof(number));
	number = le16toh(number);
	if (map64_get(e->machines, machine, &seen) || end < e->since || start > e->until) {
		e->all = false;
		return 0;
	}
	if (!e->scope->epochs || number < e->first)
		e->first = number;
	if (number > e->last)
		e->last = number;
	e->scope->machines += !seen;
	map64_put(e->machines, machine, 1);
	e->scope->epochs++;
	if (!e->scope->start_ns || start < e->scope->start_ns)
		e->scope->start_ns = start;
	if (end > e->scope->end_ns)
		e->scope->end_ns = end;
	buf_printf(&e->list, ",%llu", (unsigned long long)epoch);
	return 0;
}

static int find_epochs(struct fleet_server *s, struct epochs *e, struct diag *diag)
{
	uint64_t from = e->since / DAY_NS;
	struct buf answer;
	struct cursor c;
	char sql[256];
	int r;

	/* An epoch may have begun days before its last samples. */
	snprintf(sql, sizeof(sql),
		 "SELECT day, machine, epoch, start_ns, end_ns FROM epochs FINAL WHERE day >= "
		 "toDate(%llu) FORMAT RowBinary",
		 (unsigned long long)(from > 40 ? from - 40 : 0));
	buf_init(&answer, ANSWER_MAX);
	r = ask(s, sql, &answer, diag);
	c = cursor_over(answer.data, answer.size);
	while (!r && cursor_left(&c))
		if (take_epoch(e, &c))
			r = fail_row(diag);
	buf_free(&answer);
	if (!r && e->list.error)
		r = diag_fail(diag, EFBIG, "too many epochs: select less (--since, --machines)");
	if (!r && !e->scope->epochs)
		r = diag_fail(diag, ENOENT, "the fleet has no epochs of such machines and times");
	return r;
}

/* Appends " AND COLUMN IN (numbers)" for those of a table's names that match. */
static int add_numbers(struct fleet_server *s, const char *sql, const char *column,
		       bool (*matches)(const void *arg, const char *name, size_t size),
		       const void *arg, struct buf *where, struct diag *diag)
{
	size_t count = 0;
	struct buf answer;
	struct cursor c;
	int r;

	buf_init(&answer, ANSWER_MAX);
	r = ask(s, sql, &answer, diag);
	buf_printf(where, " AND %s IN (0", column);
	c = cursor_over(answer.data, answer.size);
	while (!r && cursor_left(&c)) {
		uint64_t number = cursor_u64(&c);
		size_t size = 0;
		const char *name = cursor_string(&c, SUBJECT_MAX_BYTES, &size);

		if (c.error)
			r = fail_row(diag);
		else if (matches(arg, name, size)) {
			buf_printf(where, ",%llu", (unsigned long long)number);
			count++;
		}
	}
	buf_printf(where, ")");
	buf_free(&answer);
	if (!r && where->error)
		r = diag_fail(diag, EFBIG, "too many %ss: select less", column);
	return r || count ? r : diag_fail(diag, ENOENT, "the fleet has no such %s", column);
}

static bool is_build(const void *arg, const char *name, size_t size)
{
	const char *glob = arg;
	char text[IMAGE_ID_TEXT_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)size, name);
	return !strncmp(text, glob, strlen(glob)) || !fnmatch(glob, text, 0);
}

static bool has_labels(const void *arg, const char *pairs, size_t size)
{
	const struct fleet_selection *s = arg;
	char key[300], value[SUBJECT_MAX_BYTES + 1];

	for (size_t i = 0; i < s->label_count; i++) {
		const char *equals = strchr(s->labels[i], '='), *got;
		size_t got_size;

		snprintf(key, sizeof(key), "label.%.*s", (int)(equals - s->labels[i]),
			 s->labels[i]);
		got = subject_get(pairs, size, key, &got_size);
		if (!got)
			return false;
		snprintf(value, sizeof(value), "%.*s", (int)got_size, got);
		if (fnmatch(equals + 1, value, 0))
			return false;
	}
	return true;
}

static int add_rows(struct fleet_server *s, const struct fleet_selection *selection,
		    struct fleet_scope *scope, struct diag *diag)
{
	int r = 0;

	buf_append(&scope->rows, scope->where.data, scope->where.size);
	scope->is_part = selection->build || selection->label_count;
	for (size_t i = 0; i < selection->label_count; i++)
		if (!strchr(selection->labels[i], '=') || strlen(selection->labels[i]) > 256)
			return diag_fail(diag, EINVAL, "'%s' is not KEY=GLOB",
					 selection->labels[i]);
	if (selection->build)
		r = add_numbers(s, "SELECT DISTINCT image, id FROM images FORMAT RowBinary",
				"image", is_build, selection->build, &scope->rows, diag);
	if (!r && selection->label_count)
		r = add_numbers(s, "SELECT DISTINCT subject, pairs FROM subjects FORMAT RowBinary",
				"subject", has_labels, selection, &scope->rows, diag);
	return r;
}

static int find_all(struct fleet_server *s, const struct fleet_selection *selection,
		    struct epochs *e, struct diag *diag)
{
	struct buf *where = &e->scope->where;
	int r = 0;

	if (selection->since)
		r = read_time(selection->since, false, &e->since, diag);
	if (!r && selection->until)
		r = read_time(selection->until, true, &e->until, diag);
	if (!r)
		r = find_machines(s, selection->machines, e->machines, diag);
	if (!r)
		r = find_epochs(s, e, diag);
	if (r)
		return r;
	buf_printf(where, " day >= toDate(%u) AND day <= toDate(%u)", e->first, e->last);
	if (!e->all) {
		buf_printf(where, " AND epoch IN (0");
		buf_append(where, e->list.data, e->list.size);
		buf_printf(where, ")");
	}
	return where->error ? diag_fail(diag, EFBIG, "too many epochs")
			    : add_rows(s, selection, e->scope, diag);
}

int fleet_scope_find(struct fleet_server *s, const struct fleet_selection *selection,
		     struct fleet_scope *ret, struct diag *diag)
{
	struct epochs e = {.scope = ret, .until = UINT64_MAX, .all = true};
	int r;

	memset(ret, 0, sizeof(*ret));
	buf_init(&ret->where, SQL_MAX);
	buf_init(&ret->rows, SQL_MAX);
	buf_init(&e.list, SQL_MAX / 2);
	e.machines = map64_new(MACHINES_MAX);
	r = e.machines ? find_all(s, selection, &e, diag)
		       : diag_fail(diag, ENOMEM, "out of memory");
	map64_free(e.machines);
	buf_free(&e.list);
	return r;
}

void fleet_scope_free(struct fleet_scope *scope)
{
	buf_free(&scope->where);
	buf_free(&scope->rows);
}

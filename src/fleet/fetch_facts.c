/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fleet/fetch_state.h"

/* Counters add up. Of a fact that differs from machine to machine, the commonest value is taken:
 * but what counts cover is the whole only if it is so everywhere. */
static int add_counter(struct fetch *f, struct cursor *c)
{
	uint64_t event = cursor_u64(c), value;
	char name[DB_NAME_MAX + 1];
	uint32_t index = DB_EVENT_NONE;
	size_t size = 0;
	const char *text = cursor_string(c, DB_NAME_MAX, &size);
	int r = 0;

	value = cursor_u64(c);
	if (c->error)
		return fetch_fail_row(f);
	snprintf(name, sizeof(name), "%.*s", (int)size, text);
	/* Of a part of the samples it is not known. */
	if (f->scope.is_part && !strcmp(name, "samples"))
		return 0;
	if (event != FLEET_NO_EVENT)
		r = fleet_names_batch(&f->names, FLEET_NAME_EVENT, event, f->batch, &index);
	if (!r)
		r = db_batch_count(f->batch, index, name, value);
	return r == -ENOENT ? 0 : fetch_added(f, r);
}

static int want_events(struct fetch *f, const struct buf *answer)
{
	struct cursor c = cursor_over(answer->data, answer->size);
	int r = 0;

	while (!r && cursor_left(&c)) {
		uint64_t event = cursor_u64(&c);
		size_t size = 0;

		cursor_string(&c, DB_NAME_MAX, &size);
		cursor_u64(&c);
		if (c.error)
			return fetch_fail_row(f);
		if (event != FLEET_NO_EVENT)
			r = fetch_added(f, fleet_names_want(&f->names, FLEET_NAME_EVENT, event, 0));
	}
	return r ? r : fleet_names_ask(&f->names, f->server, f->diag);
}

static int fetch_counters(struct fetch *f)
{
	struct buf answer;
	struct cursor c;
	int r;

	buf_init(&answer, FETCH_ANSWER_MAX);
	r = fetch_ask(f, "SELECT event, name, sum(value) FROM counters FINAL WHERE",
		      &f->scope.where,
		      " GROUP BY event, name ORDER BY event, name FORMAT RowBinary", &answer);
	if (!r)
		r = want_events(f, &answer);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);)
		r = add_counter(f, &c);
	buf_free(&answer);
	return r;
}

/* The commonest value of a name comes first. */
static int add_fact(struct fetch *f, struct cursor *c, char last[DB_NAME_MAX + 1])
{
	char name[DB_NAME_MAX + 1], value[DB_FACT_VALUE_MAX + 1];
	size_t name_size = 0, value_size = 0;
	const char *name_text = cursor_string(c, DB_NAME_MAX, &name_size);
	const char *value_text = cursor_string(c, DB_FACT_VALUE_MAX, &value_size);
	uint64_t epochs = cursor_u64(c);
	bool covers;

	if (c->error)
		return fetch_fail_row(f);
	snprintf(name, sizeof(name), "%.*s", (int)name_size, name_text);
	snprintf(value, sizeof(value), "%.*s", (int)value_size, value_text);
	if (!strcmp(name, last))
		return 0;
	memcpy(last, name, sizeof(name));
	covers = !strcmp(name, DB_COUNTS_FACT) || !strcmp(name, "paths");
	return fetch_added(
		f, db_batch_fact(f->batch, name,
				 covers && epochs < f->scope.epochs ? DB_COUNTS_PART : value));
}

int fetch_facts(struct fetch *f)
{
	char last[DB_NAME_MAX + 1] = "";
	struct buf answer;
	struct cursor c;
	int r = fetch_counters(f);

	if (r)
		return r;
	buf_init(&answer, FETCH_ANSWER_MAX);
	r = fetch_ask(f, "SELECT name, value, count() AS n FROM facts FINAL WHERE", &f->scope.where,
		      " GROUP BY name, value ORDER BY name, n DESC, value FORMAT RowBinary",
		      &answer);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);)
		r = add_fact(f, &c, last);
	buf_free(&answer);
	return r;
}

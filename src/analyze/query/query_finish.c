/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query.h"
#include "analyze/query/query_join.h"
#include "analyze/query/query_state.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/num.h"

/* The last step of a query: events in the order of the reports, rows in order, sums made. */

struct ranked_event {
	struct query_event event;
	uint32_t index;
};

/* What tells time is what a reader wants to see first, whatever else was sampled beside it. */
static int event_class(const struct query_event *e)
{
	static const char *const clocks[] = {"cycles", "cpu-cycles", "cpu-clock", "task-clock"};
	size_t size = strcspn(e->name, ":");

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (strlen(clocks[i]) == size && !strncmp(e->name, clocks[i], size))
			return 0;
	}
	return 1;
}

static int event_compare(const void *a, const void *b)
{
	const struct query_event *e = &((const struct ranked_event *)a)->event;
	const struct query_event *f = &((const struct ranked_event *)b)->event;
	int d = (e->periods == 0) - (f->periods == 0);

	if (!d)
		d = event_class(e) - event_class(f);
	if (!d)
		d = NUM_ORDER(f->samples, e->samples);
	if (!d)
		d = strcmp(e->name, f->name);
	return d ? d : NUM_ORDER(e->period, f->period);
}

/* Labels are unique: name, or NAME:PERIOD, as one writes it to `record -e`. */
static int label_events(struct query *q)
{
	for (size_t i = 0; i < q->event_count; i++) {
		struct query_event *e = &q->events[i];
		bool twin = false;

		for (size_t j = 0; j < q->event_count; j++)
			twin |= j != i && !strcmp(e->name, q->events[j].name);
		e->label = !twin ? e->name
				 : arena_printf(q->memory, "%s:%llu", e->name,
						(unsigned long long)e->period);
		if (!e->label)
			return -ENOMEM;
	}
	return 0;
}

static int order_events(struct query *q)
{
	struct ranked_event *ranked = reallocarray(NULL, q->event_count + 1, sizeof(*ranked));
	uint32_t place[QUERY_EVENTS_MAX];

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < q->event_count; i++)
		ranked[i] = (struct ranked_event){q->events[i], (uint32_t)i};
	array_sort(ranked, q->event_count, sizeof(*ranked), event_compare);
	for (size_t i = 0; i < q->event_count; i++) {
		q->events[i] = ranked[i].event;
		place[ranked[i].index] = (uint32_t)i;
	}
	free(ranked);
	for (size_t i = 0; i < q->part_count; i++) {
		struct query_part *p = &q->parts[i];

		for (size_t row = 0; row < p->row_count; row++)
			p->rows[row].event = place[p->rows[row].event];
		/* Rows of one offset may now be in another order. */
		if (q->event_count > 1)
			p->sorted = 0;
	}
	while (q->event_count && !q->events[q->event_count - 1].periods)
		q->event_count--;
	return 0;
}

int query_finish(struct query *q, struct diag *diag)
{
	int r = 0;

	query_merge_periods(q);
	for (size_t i = 0; i < q->part_count && !r; i++)
		r = query_rows_merge(&q->parts[i]);
	if (!r)
		query_join(q);
	if (!r)
		r = order_events(q);
	if (!r)
		r = label_events(q);
	for (size_t i = 0; i < q->part_count && !r; i++)
		r = query_rows_merge(&q->parts[i]);
	if (r)
		return diag_fail(diag, -r, "out of memory");
	return 0;
}

/* For the message that none matches: the names of the events that there are. */
static int list_event(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	uint32_t index;

	(void)name, (void)value;
	if (event)
		intern_add(arg, event->name, strlen(event->name), &index);
	return 0;
}

static bool list_profile(void *arg, const struct db_profile *p)
{
	list_event(arg, p->event, NULL, 0);
	return false;
}

static int skip_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
		     const uint64_t *counts, size_t n)
{
	(void)arg, (void)p, (void)offsets, (void)counts, (void)n;
	return 0;
}

static int fail_no_event(const struct query *q, struct db_reader *reader, struct diag *diag)
{
	struct intern *names = intern_new(QUERY_EVENTS_MAX);
	struct db_visitor list = {
		.want = list_profile, .rows = skip_rows, .counter = list_event, .arg = names};
	struct buf text;

	if (!names)
		return diag_fail(diag, ENOMEM, "out of memory");
	buf_init(&text, 500);
	db_reader_query(reader, &list, NULL);
	for (uint32_t i = 0; i < intern_count(names); i++)
		buf_printf(&text, "%s%s", i ? ", " : "", (const char *)intern_get(names, i, NULL));
	int r = diag_fail(diag, ENOENT, "no event matches '%s'; the events are: %.*s",
			  q->selection.event, text.data ? (int)text.size : 4,
			  text.data ? (char *)text.data : "none");
	buf_free(&text);
	intern_free(names);
	return r;
}

int query_read(struct query *q, struct db_reader *reader, struct diag *diag)
{
	struct db_visitor visitor = query_visitor(q);
	struct diag detail = {""};
	int r = db_reader_query(reader, &visitor, &detail);

	if (r == -E2BIG && !*detail.text)
		return diag_fail(diag, E2BIG,
				 "the selection holds too much for one report; choose fewer epochs "
				 "(--epoch) or one event (--event)");
	if (r)
		return diag_fail(diag, -r, "%s", *detail.text ? detail.text : strerror(-r));
	if (q->selection.event && !q->event_count)
		return fail_no_event(q, reader, diag);
	return query_finish(q, diag);
}

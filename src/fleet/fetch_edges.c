/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "fleet/fetch_state.h"

/* Which branches went where. They have no subject, and are not in a table of functions. */
struct edge {
	uint64_t image, event, from, to_image, to, count, windows;
	uint8_t evidence;
};

static struct edge read_edge(struct cursor *c)
{
	struct edge e;

	e.image = cursor_u64(c);
	e.event = cursor_u64(c);
	e.evidence = cursor_u8(c);
	e.from = cursor_u64(c);
	e.to_image = cursor_u64(c);
	e.to = cursor_u64(c);
	e.count = cursor_u64(c);
	e.windows = cursor_u64(c);
	return e;
}

static int want(struct fetch *f, const struct edge *e)
{
	int r = fleet_names_want(&f->names, FLEET_NAME_IMAGE, e->image, 0);

	if (!r)
		r = fleet_names_want(&f->names, FLEET_NAME_IMAGE, e->to_image, 0);
	return r ? r : fleet_names_want(&f->names, FLEET_NAME_EVENT, e->event, 0);
}

static int add(struct fetch *f, const struct edge *e)
{
	struct db_edge edge = {.evidence = e->evidence, .from = e->from, .to = e->to};
	int r = fleet_names_batch(&f->names, FLEET_NAME_EVENT, e->event, f->batch, &edge.event);

	if (!r)
		r = fleet_names_batch(&f->names, FLEET_NAME_IMAGE, e->image, f->batch, &edge.image);
	if (!r)
		r = fleet_names_batch(&f->names, FLEET_NAME_IMAGE, e->to_image, f->batch,
				      &edge.to_image);
	if (!r)
		r = db_batch_edge(f->batch, &edge, e->count, e->windows);
	/* Of another version, or forged. */
	if (r == -ENOENT || r == -EINVAL) {
		f->result->unnamed += e->count;
		return 0;
	}
	f->result->edges += !r;
	return r;
}

int fetch_edges(struct fetch *f)
{
	struct buf answer;
	struct cursor c;
	struct edge e;
	int r;

	buf_init(&answer, FETCH_ANSWER_MAX);
	r = fetch_ask(
		f,
		"SELECT image, event, evidence, from_off, to_image, to_off, sum(cnt) AS n, "
		"sum(windows) AS w FROM edges FINAL WHERE",
		&f->scope.where,
		" GROUP BY image, event, evidence, from_off, to_image, to_off FORMAT RowBinary",
		&answer);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);) {
		e = read_edge(&c);
		r = c.error ? fetch_fail_row(f) : fetch_added(f, want(f, &e));
	}
	if (!r)
		r = fleet_names_ask(&f->names, f->server, f->diag);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);) {
		e = read_edge(&c);
		r = fetch_added(f, add(f, &e));
		if (r == 1)
			r = fetch_added(f, add(f, &e));
	}
	buf_free(&answer);
	return r;
}

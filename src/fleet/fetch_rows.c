/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "fleet/fetch_state.h"

/* Samples by offset, or by function at its start. */
struct row {
	uint64_t image, event, subject, offset, count;
};

static struct row read_row(struct cursor *c)
{
	struct row row;

	row.image = cursor_u64(c);
	row.event = cursor_u64(c);
	row.subject = cursor_u64(c);
	row.offset = cursor_u64(c);
	row.count = cursor_u64(c);
	return row;
}

static int want(struct fetch *f, const struct row *row)
{
	int r = fleet_names_want(&f->names, FLEET_NAME_IMAGE, row->image, row->count);

	if (!r)
		r = fleet_names_want(&f->names, FLEET_NAME_EVENT, row->event, row->count);
	return r ? r : fleet_names_want(&f->names, FLEET_NAME_SUBJECT, row->subject, row->count);
}

static int add(struct fetch *f, const struct row *row)
{
	uint32_t image, event, subject, profile;
	int r = fleet_names_batch(&f->names, FLEET_NAME_EVENT, row->event, f->batch, &event);

	if (r == -ENOENT) {
		f->result->unnamed += row->count;
		return 0;
	}
	if (!r)
		r = fleet_names_batch(&f->names, FLEET_NAME_IMAGE, row->image, f->batch, &image);
	if (!r)
		r = fleet_names_batch(&f->names, FLEET_NAME_SUBJECT, row->subject, f->batch,
				      &subject);
	if (!r)
		r = db_batch_profile(f->batch, image, event, subject, &profile);
	if (!r)
		r = db_batch_add(f->batch, profile, row->offset, row->count);
	if (r)
		return r;
	f->result->rows++;
	f->result->samples += row->count;
	return 0;
}

int fetch_rows(struct fetch *f)
{
	bool all = f->detail == FLEET_EVERYTHING;
	struct buf answer;
	struct cursor c;
	struct row row;
	int r;

	buf_init(&answer, FETCH_ANSWER_MAX);
	r = fetch_ask(
		f,
		all ? "SELECT image, event, subject, off, sum(cnt) AS n FROM samples FINAL WHERE"
		    : "SELECT image, event, subject, fn, sum(cnt) AS n FROM functions FINAL "
		      "WHERE",
		&f->scope.rows,
		all ? " GROUP BY image, event, subject, off FORMAT RowBinary"
		    : " GROUP BY image, event, subject, fn HAVING n > 0 FORMAT RowBinary",
		&answer);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);) {
		row = read_row(&c);
		r = c.error ? fetch_fail_row(f) : fetch_added(f, want(f, &row));
	}
	if (!r)
		r = fleet_names_ask(&f->names, f->server, f->diag);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);) {
		row = read_row(&c);
		r = fetch_added(f, add(f, &row));
		if (r == 1)
			r = fetch_added(f, add(f, &row));
	}
	buf_free(&answer);
	return r;
}

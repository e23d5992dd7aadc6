/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "fleet/push_state.h"

/* Samples, by offset and by function. */
#define SUBJECTS_MAX (1u << 20) /* of one function */

struct samples {
	struct push *push;
	struct push_function function;
};

static int put_row(void *arg, const void *item)
{
	struct samples *s = arg;
	struct push *p = s->push;
	const struct db_row *row = item;
	bool changed = push_wants(p, push_key_row(row));
	struct push_image *image;
	uint64_t event, subject;
	struct buf *b;
	int r = push_image(p, row->image, &row->path, &image);

	if (!r)
		r = push_event(p, row->event, &event);
	if (!r)
		r = push_subject(p, &row->subject, &subject);
	if (!r)
		r = push_function_add(p, &s->function, image, event, subject, row, changed);
	if (r || !changed)
		return r;
	b = fleet_row(&p->rows, FLEET_SAMPLES);
	fleet_put_u16(b, p->day);
	buf_append_u64(b, image->number);
	buf_append_u64(b, event);
	buf_append_u64(b, p->epoch);
	buf_append_u64(b, subject);
	buf_append_u64(b, row->offset);
	buf_append_u64(b, row->count);
	buf_append_u64(b, p->stream.epoch.last_segment);
	p->result->rows++;
	return fleet_row_end(&p->rows, FLEET_SAMPLES, p->diag);
}

int push_samples(struct push *p)
{
	struct samples s = {.push = p, .function.counts = map64_new(SUBJECTS_MAX)};
	int r = s.function.counts ? push_note_changed(p, &kind_rows, push_key_row) : -ENOMEM;

	if (r)
		diag_fail(p->diag, -r, "cannot hold what changed: %s", strerror(-r));
	else
		r = db_stream_each(&p->stream, &kind_rows, 0, put_row, &s);
	if (!r)
		r = push_function_end(p, &s.function);
	if (!r)
		r = push_functions_settle(p);
	map64_free(s.function.counts);
	return r;
}

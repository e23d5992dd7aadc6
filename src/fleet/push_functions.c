/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fleet/push_state.h"

/*
 * The sums of samples by function: what a fleet is mostly asked for, and a tenth of the rows or
 * less. A function is known by its start as the symbols that the database keeps have it; an offset
 * that is in none counts as one by itself. So these sums say of every sample what a report by
 * function says of the rows.
 */
#define FUNCTIONS_MAX (8u << 20) /* of an epoch */
#define ANSWER_MAX    (256u << 20)

struct sending {
	struct push *push;
	struct push_function *function;
	int error;
};

static uint64_t key_of(uint64_t image, uint64_t fn, uint64_t event, uint64_t subject)
{
	uint64_t h = hash_u64(image ^ hash_u64(fn ^ hash_u64(event ^ hash_u64(subject))));

	return h == UINT64_MAX ? 0 : h;
}

static int put(struct push *p, const uint64_t key[4], uint64_t count)
{
	struct buf *b = fleet_row(&p->rows, FLEET_FUNCTIONS);

	fleet_put_u16(b, p->day);
	for (int i = 0; i < 3; i++)
		buf_append_u64(b, key[i]);
	buf_append_u64(b, p->epoch);
	buf_append_u64(b, key[3]);
	buf_append_u64(b, count);
	buf_append_u64(b, p->stream.epoch.last_segment);
	p->result->functions++;
	return fleet_row_end(&p->rows, FLEET_FUNCTIONS, p->diag);
}

static void end_subject(uint64_t subject, uint64_t count, void *arg)
{
	struct sending *s = arg;
	const struct push_function *f = s->function;
	uint64_t key[4] = {f->image->number, f->fn, f->event, subject};
	struct push *p = s->push;

	if (s->error)
		return;
	s->error = map64_put(p->functions, key_of(key[0], key[1], key[2], key[3]), 1);
	if (s->error)
		diag_fail(p->diag, -s->error, "cannot hold the functions of an epoch: %s",
			  strerror(-s->error));
	else if (f->changed)
		s->error = put(p, key, count);
}

int push_function_end(struct push *p, struct push_function *f)
{
	struct sending s = {p, f, 0};

	if (!p->functions)
		p->functions = map64_new(FUNCTIONS_MAX);
	if (!p->functions)
		return diag_fail(p->diag, ENOMEM, "out of memory");
	if (f->image)
		map64_each(f->counts, end_subject, &s);
	map64_clear(f->counts);
	f->image = NULL;
	f->changed = false;
	return s.error;
}

int push_function_add(struct push *p, struct push_function *f, struct push_image *image,
		      uint64_t event, uint64_t subject, const struct db_row *row, bool changed)
{
	const struct image_function *at = f->image == image ? f->at : NULL;
	uint64_t sum = 0, fn;
	int r = 0;

	if ((!at || row->offset < at->start || row->offset - at->start >= at->size) &&
	    image->symbols)
		at = image_symbols_find(image->symbols, row->offset);
	fn = at ? at->start : row->offset;
	if (f->image != image || f->fn != fn || f->event != event)
		r = push_function_end(p, f);
	if (r)
		return r;
	f->at = at;
	f->fn = fn;
	f->image = image;
	f->event = event;
	f->changed |= changed;
	if (map64_get(f->counts, subject, &sum))
		sum = 0;
	r = map64_put(f->counts, subject, sum + row->count);
	return r ? diag_fail(p->diag, -r, "cannot hold the subjects of a function: %s",
			     strerror(-r))
		 : 0;
}

int push_functions_settle(struct push *p)
{
	struct buf answer;
	struct cursor c;
	char sql[256];
	uint64_t none;
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT image, fn, event, subject FROM functions FINAL WHERE day = toDate(%u) AND "
		 "epoch = %llu AND cnt > 0 FORMAT RowBinary",
		 p->day, (unsigned long long)p->epoch);
	buf_init(&answer, ANSWER_MAX);
	r = fleet_server_run(p->server, sql, NULL, &answer, p->diag);
	c = cursor_over(answer.data, answer.size);
	while (!r && cursor_left(&c)) {
		uint64_t key[4];

		for (int i = 0; i < 4; i++)
			key[i] = cursor_u64(&c);
		if (c.error)
			r = diag_fail(p->diag, EPROTO, "the server's answer ends within a row");
		else if (!p->functions ||
			 map64_get(p->functions, key_of(key[0], key[1], key[2], key[3]), &none))
			r = put(p, key, 0);
	}
	buf_free(&answer);
	return r;
}

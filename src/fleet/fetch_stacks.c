/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "fleet/fetch_state.h"

/* Stacks: their counts in one answer, their frames in another. */
struct stacks {
	struct fetch *fetch;
	struct buf counts, frames;
	struct map64 *at; /* where a stack's frames begin in frames */
};

struct frames {
	uint64_t images[DB_STACK_MAX], offsets[DB_STACK_MAX];
	uint32_t count;
};

#define STACKS_MAX (16u << 20)

static int read_numbers(struct cursor *c, uint64_t *ret, uint32_t *ret_count)
{
	uint64_t count = cursor_varint(c);

	if (c->error || count > DB_STACK_MAX)
		return -EPROTO;
	for (uint64_t i = 0; i < count; i++)
		ret[i] = cursor_u64(c);
	*ret_count = (uint32_t)count;
	return c->error ? -EPROTO : 0;
}

/* One row of the frames: -ESTALE when it is not what its number says. */
static int read_frames(struct cursor *c, uint8_t ret_stack[FLEET_STACK_ID], struct frames *ret)
{
	const void *stack = cursor_bytes(c, FLEET_STACK_ID);
	uint8_t made[FLEET_STACK_ID];
	uint32_t offsets = 0;
	int r = read_numbers(c, ret->images, &ret->count);

	if (!r)
		r = read_numbers(c, ret->offsets, &offsets);
	if (r || !stack)
		return -EPROTO;
	memcpy(ret_stack, stack, FLEET_STACK_ID);
	if (offsets != ret->count || !ret->count)
		return -ESTALE;
	fleet_id_stack(ret->images, ret->offsets, ret->count, made);
	return memcmp(made, stack, FLEET_STACK_ID) ? -ESTALE : 0;
}

static uint64_t key_of(const uint8_t stack[FLEET_STACK_ID])
{
	uint64_t key;

	memcpy(&key, stack, sizeof(key));
	return key == UINT64_MAX ? 0 : key;
}

static int index_frames(struct stacks *s)
{
	struct fetch *f = s->fetch;
	struct cursor c = cursor_over(s->frames.data, s->frames.size);
	uint8_t stack[FLEET_STACK_ID];
	struct frames frames;
	int r = 0;

	while (!r && cursor_left(&c)) {
		uint64_t at = (uint64_t)(c.at - s->frames.data);

		r = read_frames(&c, stack, &frames);
		if (r == -EPROTO)
			return fetch_fail_row(f);
		if (r == -ESTALE) {
			f->names.forged++;
			r = 0;
			continue;
		}
		r = map64_put(s->at, key_of(stack), at);
		for (uint32_t i = 0; i < frames.count && !r; i++)
			r = fleet_names_want(&f->names, FLEET_NAME_IMAGE, frames.images[i], 0);
	}
	return r ? diag_fail(f->diag, -r, "cannot hold the fleet's stacks: %s", strerror(-r)) : 0;
}

static int add(struct stacks *s, uint64_t event_number, uint64_t subject_number,
	       const uint8_t stack[FLEET_STACK_ID], uint64_t count)
{
	struct fetch *f = s->fetch;
	struct db_frame frames[DB_STACK_MAX];
	uint8_t found[FLEET_STACK_ID];
	struct frames got;
	uint32_t event, subject;
	struct cursor c;
	uint64_t at;
	int r = fleet_names_batch(&f->names, FLEET_NAME_EVENT, event_number, f->batch, &event);

	if (r == -ENOENT || map64_get(s->at, key_of(stack), &at)) {
		f->result->unnamed += count;
		return 0;
	}
	c = cursor_over(s->frames.data + at, s->frames.size - at);
	if (!r)
		r = read_frames(&c, found, &got);
	if (!r && memcmp(found, stack, FLEET_STACK_ID)) {
		f->result->unnamed += count;
		return 0;
	}
	if (!r)
		r = fleet_names_batch(&f->names, FLEET_NAME_SUBJECT, subject_number, f->batch,
				      &subject);
	for (uint32_t i = 0; i < got.count && !r; i++) {
		frames[i].offset = got.offsets[i];
		r = fleet_names_batch(&f->names, FLEET_NAME_IMAGE, got.images[i], f->batch,
				      &frames[i].image);
	}
	if (!r)
		r = db_batch_stack(f->batch, event, subject, frames, got.count, count);
	f->result->stacks += !r;
	return r;
}

/* Steps through the counts; add_them: adds them, else wants their names. */
static int each(struct stacks *s, bool add_them)
{
	struct fetch *f = s->fetch;
	struct cursor c = cursor_over(s->counts.data, s->counts.size);
	int r = 0;

	while (!r && cursor_left(&c)) {
		uint64_t event = cursor_u64(&c), subject = cursor_u64(&c), count;
		const uint8_t *stack = cursor_bytes(&c, FLEET_STACK_ID);

		count = cursor_u64(&c);
		if (c.error)
			return fetch_fail_row(f);
		if (add_them) {
			r = fetch_added(f, add(s, event, subject, stack, count));
			if (r == 1)
				r = fetch_added(f, add(s, event, subject, stack, count));
			continue;
		}
		r = fetch_added(f, fleet_names_want(&f->names, FLEET_NAME_EVENT, event, 0));
		if (!r)
			r = fetch_added(
				f, fleet_names_want(&f->names, FLEET_NAME_SUBJECT, subject, 0));
	}
	return r;
}

int fetch_stacks(struct fetch *f)
{
	struct stacks s = {.fetch = f, .at = map64_new(STACKS_MAX)};
	int r = s.at ? 0 : diag_fail(f->diag, ENOMEM, "out of memory");

	buf_init(&s.counts, FETCH_ANSWER_MAX);
	buf_init(&s.frames, FETCH_ANSWER_MAX);
	if (!r)
		r = fetch_ask(f,
			      "SELECT event, subject, stack, sum(cnt) AS n FROM stacks FINAL WHERE",
			      &f->scope.where, " GROUP BY event, subject, stack FORMAT RowBinary",
			      &s.counts);
	if (!r && s.counts.size)
		r = fetch_ask(
			f,
			"SELECT stack, any(images), any(offs) FROM frames WHERE stack GLOBAL IN "
			"(SELECT stack FROM stacks WHERE",
			&f->scope.where, ") GROUP BY stack FORMAT RowBinary", &s.frames);
	if (!r)
		r = index_frames(&s);
	if (!r)
		r = each(&s, false);
	if (!r)
		r = fleet_names_ask(&f->names, f->server, f->diag);
	if (!r)
		r = each(&s, true);
	buf_free(&s.counts);
	buf_free(&s.frames);
	map64_free(s.at);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/stacks.h"

#include <errno.h>
#include <string.h>
#include "util/num.h"

static void names_decode(struct cursor *c, struct arena *a, struct stacks_chunk *t)
{
	dict_images_decode(c, a, &t->images);
	for (uint32_t i = 1; i < t->images.count && !c->error; i++)
		if (memcmp(&t->images.ids[i - 1], &t->images.ids[i], sizeof(*t->images.ids)) >= 0)
			c->error = -EBADMSG;
	t->events = dict_events_decode(c, a, &t->event_count);
	t->subjects = dict_subjects_decode(c, a, &t->subject_count);
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static void frames_decode(struct cursor *c, struct arena *a, struct stacks_chunk *t)
{
	/* Each takes a byte at least. */
	uint32_t room = cursor_left(c) > STACKS_CHUNK_MAX * 4u ? STACKS_CHUNK_MAX * 4u
							       : (uint32_t)cursor_left(c);

	t->frames = dict_list_new(c, a, room, sizeof(*t->frames));
	for (uint32_t i = 0; i < t->images.count && !c->error; i++) {
		uint64_t count = cursor_varint(c), offset = 0;

		if (!c->error && count > room - t->frame_count)
			c->error = -EBADMSG;
		for (uint64_t n = 0; n < count && !c->error; n++) {
			uint64_t step = cursor_varint(c);

			if ((n && !step) || step > UINT64_MAX - offset)
				c->error = -EBADMSG;
			offset += step;
			t->frames[t->frame_count++] = (struct db_frame_item){
				&t->images.ids[i], t->images.paths[i], offset};
		}
	}
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static int order_check(const struct stacks_chunk *t, uint32_t group)
{
	const struct stacks_group *g = &t->groups[group], *last = g - 1;
	int order = group ? db_event_compare(&t->events[last->event], &t->events[g->event]) : -1;

	if (order == 0)
		order = db_bytes_compare(&t->subjects[last->subject], &t->subjects[g->subject]);
	return order < 0 ? 0 : -EBADMSG;
}

static void groups_decode(struct cursor *c, struct arena *a, struct stacks_chunk *t)
{
	uint64_t stacks = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		uint64_t event = cursor_varint(c), subject = cursor_varint(c);
		uint64_t count = cursor_varint(c);

		if (c->error || event >= t->event_count || subject >= t->subject_count || !count ||
		    count > t->row_count) {
			c->error = -EBADMSG;
			return;
		}
		t->groups[i] =
			(struct stacks_group){(uint32_t)event, (uint32_t)subject, (uint32_t)count};
		stacks += count;
		c->error = order_check(t, i);
	}
	if (!c->error && (cursor_left(c) || stacks != t->row_count))
		c->error = -EBADMSG;
}

int stacks_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		      struct arena *a, struct stacks_chunk *ret)
{
	static const struct {
		enum stacks_stream stream;
		void (*decode)(struct cursor *c, struct arena *a, struct stacks_chunk *t);
	} parts[] = {{STACKS_DICT, names_decode},
		     {STACKS_FRAMES, frames_decode},
		     {STACKS_GROUPS, groups_decode}};
	struct stacks_chunk t = {.row_count = row_count};

	if (row_count > STACKS_CHUNK_MAX || streams[STACKS_COUNTS].size != (row_count + 1) / 2)
		return -EBADMSG;
	memcpy(t.streams, streams, sizeof(t.streams));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct db_bytes *s = &streams[parts[i].stream];
		struct cursor c = cursor_over(s->data, s->size);

		parts[i].decode(&c, a, &t);
		if (c.error)
			return c.error;
	}
	t.callees = arena_alloc(a, (t.frame_count + 1) * sizeof(*t.callees));
	if (!t.callees)
		return -ENOMEM;
	*ret = t;
	return 0;
}

static struct cursor stream_cursor(const struct stacks_chunk *chunk, enum stacks_stream s)
{
	return cursor_over(chunk->streams[s].data, chunk->streams[s].size);
}

void stacks_cursor_start(struct stacks_cursor *c, const struct stacks_chunk *chunk)
{
	c->chunk = chunk;
	c->shared = stream_cursor(chunk, STACKS_SHARED);
	c->fresh = stream_cursor(chunk, STACKS_FRESH);
	c->steps = stream_cursor(chunk, STACKS_STEPS);
	c->counts_more = stream_cursor(chunk, STACKS_COUNTS_MORE);
	c->firsts = stream_cursor(chunk, STACKS_FIRSTS);
	c->calls = stream_cursor(chunk, STACKS_CALLS);
	c->again = stream_cursor(chunk, STACKS_AGAIN);
	for (uint32_t i = 0; i <= chunk->frame_count; i++)
		chunk->callees[i] = STACKS_NOBODY;
	c->stacks_seen = c->group = c->left = c->depth = 0;
}

static bool has_stream(const struct stacks_cursor *c, enum stacks_stream s)
{
	return c->chunk->streams[s].data;
}

/* The number of a frame that takes the place of the one numbered before; see number_next(). */
static uint64_t replacing_next(struct stacks_cursor *c, uint32_t before)
{
	uint64_t v = dict_varint(&c->firsts);

	return v < c->chunk->frame_count ? before + 1 + v : UINT64_MAX;
}

/* Like number_next(), in the forms of before. */
static uint64_t number_next_before(struct stacks_cursor *c, uint32_t *callee, uint32_t before)
{
	uint64_t v;

	if (!has_stream(c, STACKS_FIRSTS)) {
		v = dict_varint(&c->steps);
		return before == STACKS_NOBODY || v > before ? v : UINT64_MAX;
	}
	if (before != STACKS_NOBODY) {
		v = replacing_next(c, before);
	} else {
		v = dict_varint(&c->steps);
		if (*callee != STACKS_NOBODY)
			v = *callee + num_unzigzag(v);
	}
	*callee = (uint32_t)v;
	return v;
}

/*
 * The number of the frame at i, which is no frame's number if nothing makes sense; before: of the
 * one whose place it takes, or STACKS_NOBODY.
 */
static uint64_t number_next(struct stacks_cursor *c, uint32_t i, uint32_t before)
{
	uint32_t caller = i ? c->numbers[i - 1] : 0;
	uint32_t *callee = &c->chunk->callees[i ? caller + 1 : 0];
	uint64_t v;

	if (!has_stream(c, STACKS_CALLS))
		return number_next_before(c, callee, before);
	if (before != STACKS_NOBODY)
		return replacing_next(c, before);
	if (*callee != STACKS_NOBODY)
		v = *callee + num_unzigzag(dict_varint(&c->again));
	else
		v = caller + num_unzigzag(dict_varint(&c->calls));
	*callee = (uint32_t)v;
	return v;
}

/* The frames of the next stack. */
static int frames_next(struct stacks_cursor *c)
{
	uint64_t shared = dict_varint(&c->shared), fresh = dict_varint(&c->fresh);
	uint32_t before = c->depth;

	if (c->shared.error || c->fresh.error || shared > before || fresh >= DB_STACK_MAX - shared)
		return -EBADMSG;
	c->depth = (uint32_t)(shared + fresh + 1);
	for (uint32_t i = (uint32_t)shared; i < c->depth; i++) {
		bool replaces = i == shared && i < before;
		uint64_t number = number_next(c, i, replaces ? c->numbers[i] : STACKS_NOBODY);

		if (c->steps.error || c->firsts.error || c->calls.error || c->again.error ||
		    number >= c->chunk->frame_count)
			return -EBADMSG;
		c->numbers[i] = (uint32_t)number;
		c->frames[i] = c->chunk->frames[number];
	}
	return 0;
}

static int count_next(struct stacks_cursor *c, uint64_t *ret)
{
	const struct db_bytes *s = &c->chunk->streams[STACKS_COUNTS];
	uint64_t count = dict_packed_get(s, 4, c->stacks_seen++), more;

	if (count == STACKS_COUNT_ESCAPE) {
		more = dict_varint(&c->counts_more);
		if (c->counts_more.error || more > UINT64_MAX - 1 - STACKS_COUNT_ESCAPE)
			return -EBADMSG;
		count += more;
	}
	*ret = count + 1;
	return 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct stacks_cursor *c)
{
	size_t left = cursor_left(&c->shared) + cursor_left(&c->fresh) + cursor_left(&c->steps) +
		      cursor_left(&c->counts_more) + cursor_left(&c->firsts) +
		      cursor_left(&c->calls) + cursor_left(&c->again);

	return left ? -EBADMSG : 0;
}

int stacks_cursor_next(struct stacks_cursor *c, struct db_stack_item *ret)
{
	const struct stacks_chunk *t = c->chunk;
	const struct stacks_group *g;

	if (!c->left) {
		if (c->group == t->group_count)
			return streams_end(c);
		c->left = t->groups[c->group++].row_count;
		c->depth = 0;
	}
	if (frames_next(c) < 0 || count_next(c, &ret->count) < 0)
		return -EBADMSG;
	c->left--;
	g = &t->groups[c->group - 1];
	ret->event = &t->events[g->event];
	ret->subject = t->subjects[g->subject];
	ret->frames = c->frames;
	ret->frame_count = c->depth;
	return 1;
}

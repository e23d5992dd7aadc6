/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/rows.h"

#include <errno.h>
#include <string.h>
#include "db/catalog.h"

/* A list's length, refused before memory is taken when the bytes at hand cannot hold it. */
static uint32_t count_decode(struct cursor *c, uint64_t max)
{
	uint64_t count = cursor_varint(c);

	if (!c->error && (count > max || count > cursor_left(c)))
		c->error = -EBADMSG;
	return c->error ? 0 : (uint32_t)count;
}

static void *list_new(struct cursor *c, struct arena *a, uint32_t count, size_t size)
{
	void *list = c->error ? NULL : arena_alloc(a, (size_t)count * size + 1);

	if (!list && !c->error)
		c->error = -ENOMEM;
	return list;
}

static void images_decode(struct cursor *c, struct arena *a, struct rows_chunk *t)
{
	const char *bytes;
	size_t size;

	t->image_count = count_decode(c, ROWS_DICT_MAX);
	t->images = list_new(c, a, t->image_count, sizeof(*t->images));
	t->paths = list_new(c, a, t->image_count, sizeof(*t->paths));
	for (uint32_t i = 0; i < t->image_count && !c->error; i++) {
		t->images[i].kind = cursor_u8(c);
		bytes = cursor_string(c, IMAGE_ID_MAX, &size);
		if (!bytes)
			return;
		t->images[i].size = (uint8_t)size;
		memcpy(t->images[i].bytes, bytes, size);
		t->paths[i].data = cursor_string(c, DB_PATH_MAX, &t->paths[i].size);
	}
}

static void names_decode(struct cursor *c, struct arena *a, struct rows_chunk *t)
{
	images_decode(c, a, t);
	t->event_count = count_decode(c, ROWS_DICT_MAX);
	t->events = list_new(c, a, t->event_count, sizeof(*t->events));
	for (uint32_t i = 0; i < t->event_count && !c->error; i++)
		event_decode(c, a, &t->events[i]);
	t->subject_count = count_decode(c, ROWS_DICT_MAX);
	t->subjects = list_new(c, a, t->subject_count, sizeof(*t->subjects));
	for (uint32_t i = 0; i < t->subject_count && !c->error; i++) {
		t->subjects[i].data = cursor_string(c, SUBJECT_MAX_BYTES, &t->subjects[i].size);
		if (i && !c->error && db_bytes_compare(&t->subjects[i - 1], &t->subjects[i]) >= 0)
			c->error = -EBADMSG;
	}
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static void group_decode(struct cursor *c, struct arena *a, const struct rows_chunk *t,
			 struct rows_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), rows = cursor_varint(c),
		 at = 0;
	uint32_t *subjects;

	g->subject_count = count_decode(c, t->subject_count);
	subjects = list_new(c, a, g->subject_count, sizeof(*subjects));
	g->subjects = subjects;
	if (!c->error && (image >= t->image_count || event >= t->event_count || !rows ||
			  rows > t->row_count || !g->subject_count))
		c->error = -EBADMSG;
	for (uint32_t i = 0; i < g->subject_count && !c->error; i++) {
		uint64_t step = cursor_varint(c);

		/* Rising: only the first may be 0 steps from 0. */
		if ((i && !step) || step >= t->subject_count - at)
			c->error = -EBADMSG;
		at += step;
		subjects[i] = (uint32_t)at;
	}
	g->image = (uint32_t)image;
	g->event = (uint32_t)event;
	g->row_count = (uint32_t)rows;
}

static int order_check(const struct rows_chunk *t, uint32_t group)
{
	const struct rows_group *g = &t->groups[group], *last = g - 1;
	struct db_row a, b;

	if (!group)
		return 0;
	a = (struct db_row){.image = &t->images[last->image], .event = &t->events[last->event]};
	b = (struct db_row){.image = &t->images[g->image], .event = &t->events[g->event]};
	return db_row_compare_group(&a, &b) < 0 ? 0 : -EBADMSG;
}

int rows_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		    struct arena *a, struct rows_chunk *ret)
{
	struct cursor c = cursor_over(streams[ROWS_DICT].data, streams[ROWS_DICT].size);
	struct rows_chunk t = {.row_count = row_count};
	uint64_t rows = 0;

	/* Each row takes a byte of counts at least, which bounds all that is allocated for rows. */
	if (row_count > ROWS_CHUNK_MAX || row_count > streams[ROWS_COUNTS].size)
		return -EBADMSG;
	memcpy(t.streams, streams, sizeof(t.streams));
	names_decode(&c, a, &t);
	if (c.error)
		return c.error;
	c = cursor_over(streams[ROWS_GROUPS].data, streams[ROWS_GROUPS].size);
	t.group_count = count_decode(&c, ROWS_DICT_MAX);
	t.groups = list_new(&c, a, t.group_count, sizeof(*t.groups));
	for (uint32_t i = 0; i < t.group_count && !c.error; i++) {
		group_decode(&c, a, &t, &t.groups[i]);
		rows += t.groups[i].row_count;
		if (!c.error)
			c.error = order_check(&t, i);
	}
	if (!c.error && (cursor_left(&c) || rows != row_count))
		c.error = -EBADMSG;
	if (c.error)
		return c.error;
	*ret = t;
	return 0;
}

static struct cursor stream_cursor(const struct rows_chunk *chunk, enum rows_stream s)
{
	return cursor_over(chunk->streams[s].data, chunk->streams[s].size);
}

void rows_cursor_start(struct rows_cursor *c, const struct rows_chunk *chunk)
{
	*c = (struct rows_cursor){
		.chunk = chunk,
		.deltas = stream_cursor(chunk, ROWS_DELTAS),
		.sharers = stream_cursor(chunk, ROWS_SHARERS),
		.subjects = stream_cursor(chunk, ROWS_SUBJECTS),
		.counts = stream_cursor(chunk, ROWS_COUNTS),
	};
}

/* Nearly every number is one byte. */
static inline uint64_t varint_next(struct cursor *c)
{
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint(c);
}

static void group_start(struct rows_cursor *c)
{
	c->left = c->chunk->groups[c->group++].row_count;
	c->offset = 0;
	c->sharers_left = 0;
}

/* One row of the current group: its offset is in c->offset. 0 or -EBADMSG. */
static inline int row_decode(struct rows_cursor *c, const struct rows_group *g, uint64_t *ret_count,
			     uint32_t *ret_subject)
{
	bool several = g->subject_count > 1;
	uint64_t step, count;

	if (!c->sharers_left) {
		step = varint_next(&c->deltas);
		if ((!step && c->left != g->row_count) || step > UINT64_MAX - c->offset)
			return -EBADMSG;
		c->offset += step;
		step = several ? varint_next(&c->sharers) : 0;
		if (step >= c->left || step >= g->subject_count)
			return -EBADMSG;
		c->sharers_left = (uint32_t)step + 1;
		c->subject = 0;
	}
	if (several) {
		step = varint_next(&c->subjects);
		if (step >= (uint64_t)g->subject_count - c->subject)
			return -EBADMSG;
		c->subject += (uint32_t)step;
	}
	count = varint_next(&c->counts);
	if (count == UINT64_MAX)
		return -EBADMSG;
	*ret_count = count + 1;
	*ret_subject = c->subject++;
	c->sharers_left--;
	c->left--;
	return 0;
}

static int streams_error(const struct rows_cursor *c)
{
	return c->deltas.error | c->sharers.error | c->subjects.error | c->counts.error ? -EBADMSG
											: 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct rows_cursor *c)
{
	size_t left = cursor_left(&c->deltas) + cursor_left(&c->sharers) +
		      cursor_left(&c->subjects) + cursor_left(&c->counts);

	return left || streams_error(c) ? -EBADMSG : 0;
}

int rows_cursor_next(struct rows_cursor *c, struct db_row *ret)
{
	const struct rows_chunk *t = c->chunk;
	const struct rows_group *g;
	uint64_t count;
	uint32_t subject;

	if (!c->left) {
		if (c->group == t->group_count)
			return streams_end(c);
		group_start(c);
	}
	g = &t->groups[c->group - 1];
	if (row_decode(c, g, &count, &subject) < 0 || streams_error(c))
		return -EBADMSG;
	*ret = (struct db_row){
		.image = &t->images[g->image],
		.path = t->paths[g->image],
		.event = &t->events[g->event],
		.subject = t->subjects[g->subjects[subject]],
		.offset = c->offset,
		.count = count,
	};
	return 1;
}

int rows_cursor_next_group(struct rows_cursor *c, const struct rows_group **ret_group,
			   uint64_t *offsets, uint64_t *counts, uint32_t *subjects)
{
	const struct rows_chunk *t = c->chunk;
	const struct rows_group *g;

	if (c->group == t->group_count)
		return streams_end(c);
	group_start(c);
	g = &t->groups[c->group - 1];
	for (uint32_t i = 0; i < g->row_count; i++) {
		if (row_decode(c, g, &counts[i], &subjects[i]) < 0)
			return -EBADMSG;
		offsets[i] = c->offset;
	}
	if (streams_error(c))
		return -EBADMSG;
	*ret_group = g;
	return 1;
}

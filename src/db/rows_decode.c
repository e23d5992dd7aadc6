/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/dict.h"

static void names_decode(struct cursor *c, struct arena *a, struct rows_chunk *t)
{
	struct dict_images images = {0};

	dict_images_decode(c, a, &images);
	t->images = images.ids;
	t->paths = images.paths;
	t->image_count = images.count;
	t->events = dict_events_decode(c, a, &t->event_count);
	t->subject_count = dict_count_decode(c, DICT_MAX);
	t->subjects = dict_list_new(c, a, t->subject_count, sizeof(*t->subjects));
	for (uint32_t i = 0; i < t->subject_count && !c->error; i++) {
		t->subjects[i].data = cursor_string(c, SUBJECT_MAX_BYTES, &t->subjects[i].size);
		if (i && !c->error && db_bytes_compare(&t->subjects[i - 1], &t->subjects[i]) >= 0)
			c->error = -EBADMSG;
	}
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

/* seen: for each subject the last group that had it. */
static void group_decode(struct cursor *c, struct arena *a, const struct rows_chunk *t,
			 struct rows_group *g, uint32_t *seen)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), rows = cursor_varint(c);
	uint32_t *subjects, number = (uint32_t)(g - t->groups) + 1;

	g->subject_count = dict_count_decode(c, t->subject_count);
	subjects = dict_list_new(c, a, g->subject_count, sizeof(*subjects));
	g->subjects = subjects;
	if (!c->error && (image >= t->image_count || event >= t->event_count || !rows ||
			  rows > t->row_count || !g->subject_count))
		c->error = -EBADMSG;
	for (uint32_t i = 0; i < g->subject_count && !c->error; i++) {
		uint64_t subject = cursor_varint(c);

		if (subject >= t->subject_count || seen[subject] == number) {
			c->error = -EBADMSG;
			break;
		}
		seen[subject] = number;
		subjects[i] = (uint32_t)subject;
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

static void groups_decode(struct cursor *c, struct arena *a, struct rows_chunk *t)
{
	uint32_t *seen = dict_list_new(c, a, t->subject_count, sizeof(*seen)), most = 0;
	uint64_t rows = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		group_decode(c, a, t, &t->groups[i], seen);
		rows += t->groups[i].row_count;
		if (t->groups[i].subject_count > most)
			most = t->groups[i].subject_count;
		if (!c->error)
			c->error = order_check(t, i);
	}
	t->sharers = dict_list_new(c, a, most, sizeof(*t->sharers));
	if (!c->error && (cursor_left(c) || rows != t->row_count))
		c->error = -EBADMSG;
}

int rows_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		    struct arena *a, struct rows_chunk *ret)
{
	struct cursor c = cursor_over(streams[ROWS_DICT].data, streams[ROWS_DICT].size);
	struct rows_chunk t = {.row_count = row_count};

	/* A count takes half a byte at least, which bounds all that is allocated for rows. */
	if (row_count > ROWS_CHUNK_MAX || streams[ROWS_COUNTS].size != (row_count + 1) / 2)
		return -EBADMSG;
	memcpy(t.streams, streams, sizeof(t.streams));
	names_decode(&c, a, &t);
	if (c.error)
		return c.error;
	c = cursor_over(streams[ROWS_GROUPS].data, streams[ROWS_GROUPS].size);
	groups_decode(&c, a, &t);
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
		.sharers_more = stream_cursor(chunk, ROWS_SHARERS_MORE),
		.first = stream_cursor(chunk, ROWS_FIRST),
		.next = stream_cursor(chunk, ROWS_NEXT),
		.counts_more = stream_cursor(chunk, ROWS_COUNTS_MORE),
	};
}

/* The count of the next row, whose place in the stream rows_chunk_open has checked. -1: too big. */
static inline int count_decode_next(struct rows_cursor *c, uint64_t *ret)
{
	uint64_t count = dict_packed_get(&c->chunk->streams[ROWS_COUNTS], 4, c->rows_seen++), more;

	if (count == ROWS_COUNT_ESCAPE) {
		more = dict_varint(&c->counts_more);
		if (more > UINT64_MAX - 1 - ROWS_COUNT_ESCAPE)
			return -EBADMSG;
		count += more;
	}
	*ret = count + 1;
	return 0;
}

static inline int sharers_decode(struct rows_cursor *c, const struct rows_group *g, uint32_t *ret)
{
	const struct db_bytes *s = &c->chunk->streams[ROWS_SHARERS];
	uint32_t at = c->offsets_seen++;
	uint64_t sharers;

	if (at / 4 >= s->size)
		return -EBADMSG;
	sharers = dict_packed_get(s, 2, at);
	if (sharers == ROWS_SHARERS_ESCAPE)
		sharers += dict_varint(&c->sharers_more);
	/* At most UINT64_MAX + 3 wrapped: then it is less than the escape, and as good as any. */
	if (sharers >= c->left || sharers >= g->subject_count)
		return -EBADMSG;
	*ret = (uint32_t)sharers + 1;
	return 0;
}

#define SHARERS_FEW 16

static int compare_sharers(const void *x, const void *y)
{
	const struct rows_sharer *a = x, *b = y;

	return (a->subject > b->subject) - (a->subject < b->subject);
}

/* Those of an offset stand by rank; rows stand by subject. */
static void sharers_sort(struct rows_sharer *s, uint32_t count)
{
	struct rows_sharer moved;
	uint32_t at;

	if (count > SHARERS_FEW) {
		qsort(s, count, sizeof(*s), compare_sharers);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		moved = s[i];
		for (at = i; at && s[at - 1].subject > moved.subject; at--)
			s[at] = s[at - 1];
		s[at] = moved;
	}
}

/* All that is at the next offset of the current group, into the chunk's sharers. 0 or -EBADMSG. */
static int offset_decode(struct rows_cursor *c, const struct rows_group *g)
{
	struct rows_sharer *to = c->chunk->sharers;
	uint64_t step = dict_varint(&c->deltas);
	uint32_t rank = 0, count = 1;

	if ((!step && c->left != g->row_count) || step > UINT64_MAX - c->offset)
		return -EBADMSG;
	c->offset += step;
	if (g->subject_count > 1 && sharers_decode(c, g, &count) < 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++, rank++) {
		step = g->subject_count == 1 ? 0 : dict_varint(i ? &c->next : &c->first);
		if (step >= (uint64_t)g->subject_count - rank)
			return -EBADMSG;
		rank += (uint32_t)step;
		to[i].rank = rank;
		to[i].subject = g->subjects[rank];
		if (count_decode_next(c, &to[i].count) < 0)
			return -EBADMSG;
	}
	if (count > 1)
		sharers_sort(to, count);
	c->left -= count;
	c->sharer = 0;
	c->sharer_count = count;
	return 0;
}

static int streams_error(const struct rows_cursor *c)
{
	return c->deltas.error || c->sharers_more.error || c->first.error || c->next.error ||
			       c->counts_more.error
		       ? -EBADMSG
		       : 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct rows_cursor *c)
{
	size_t left = cursor_left(&c->deltas) + cursor_left(&c->sharers_more) +
		      cursor_left(&c->first) + cursor_left(&c->next) + cursor_left(&c->counts_more);

	if (left || c->chunk->streams[ROWS_SHARERS].size != (c->offsets_seen + 3) / 4)
		return -EBADMSG;
	return streams_error(c);
}

static void group_start(struct rows_cursor *c)
{
	c->left = c->chunk->groups[c->group++].row_count;
	c->offset = 0;
}

int rows_cursor_next(struct rows_cursor *c, struct db_row *ret)
{
	const struct rows_chunk *t = c->chunk;
	const struct rows_sharer *s;
	const struct rows_group *g;

	if (c->sharer == c->sharer_count) {
		if (!c->left && c->group == t->group_count)
			return streams_end(c);
		if (!c->left)
			group_start(c);
		if (offset_decode(c, &t->groups[c->group - 1]) < 0 || streams_error(c))
			return -EBADMSG;
	}
	g = &t->groups[c->group - 1];
	s = &t->sharers[c->sharer++];
	*ret = (struct db_row){
		.image = &t->images[g->image],
		.path = t->paths[g->image],
		.event = &t->events[g->event],
		.subject = t->subjects[s->subject],
		.offset = c->offset,
		.count = s->count,
	};
	return 1;
}

int rows_cursor_next_group(struct rows_cursor *c, const struct rows_group **ret_group,
			   uint64_t *offsets, uint64_t *counts, uint32_t *subjects)
{
	const struct rows_chunk *t = c->chunk;
	const struct rows_group *g;
	uint32_t at = 0;

	if (c->group == t->group_count)
		return streams_end(c);
	group_start(c);
	g = &t->groups[c->group - 1];
	while (c->left) {
		if (offset_decode(c, g) < 0)
			return -EBADMSG;
		for (uint32_t i = 0; i < c->sharer_count; i++, at++) {
			offsets[at] = c->offset;
			counts[at] = t->sharers[i].count;
			subjects[at] = t->sharers[i].rank;
		}
	}
	c->sharer = c->sharer_count;
	if (streams_error(c))
		return -EBADMSG;
	*ret_group = g;
	return 1;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/raws.h"

#include <errno.h>
#include <string.h>
#include "util/num.h"

static void names_decode(struct cursor *c, struct arena *a, struct raws_chunk *t)
{
	dict_images_decode(c, a, &t->images);
	t->events = dict_events_decode(c, a, &t->event_count);
	t->subjects = dict_subjects_decode(c, a, &t->subject_count);
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static void group_decode(struct cursor *c, const struct raws_chunk *t, struct raws_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), kind = cursor_varint(c),
		 caps = cursor_varint(c), mask = cursor_varint(c), rows = cursor_varint(c);

	if (!c->error && (image >= t->images.count || event >= t->event_count ||
			  kind > UINT32_MAX || caps > UINT32_MAX || mask > UINT32_MAX || !rows ||
			  rows > t->row_count || __builtin_popcountll(mask) > DB_RAW_VALUES_MAX))
		c->error = -EBADMSG;
	*g = (struct raws_group){(uint32_t)image, (uint32_t)event, (uint32_t)rows,
				 .form = {(uint32_t)kind, (uint32_t)caps, (uint32_t)mask}};
	g->value_count = db_raw_values(&g->form);
}

static void groups_decode(struct cursor *c, struct arena *a, struct raws_chunk *t)
{
	uint64_t rows = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		struct raws_group *g = &t->groups[i];

		group_decode(c, t, g);
		rows += g->row_count;
		if (rows > t->row_count)
			c->error = -EBADMSG;
		for (unsigned k = 0; k < g->value_count && !c->error; k++)
			t->value_counts[k] += g->row_count;
	}
	if (!c->error && (cursor_left(c) || rows != t->row_count))
		c->error = -EBADMSG;
}

int raws_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		    struct arena *a, struct raws_chunk *ret)
{
	struct cursor c = cursor_over(streams[RAWS_DICT].data, streams[RAWS_DICT].size);
	struct raws_chunk t = {.row_count = row_count};

	if (row_count > RAWS_CHUNK_MAX || streams[RAWS_COUNTS].size != (row_count + 1) / 2)
		return -EBADMSG;
	memcpy(t.streams, streams, sizeof(t.streams));
	names_decode(&c, a, &t);
	if (c.error)
		return c.error;
	c = cursor_over(streams[RAWS_GROUPS].data, streams[RAWS_GROUPS].size);
	groups_decode(&c, a, &t);
	for (unsigned i = 0; i < DB_RAW_VALUES_MAX && !c.error; i++)
		if (streams[RAWS_VALUES + i].size != (size_t)t.value_counts[i] * 8)
			c.error = -EBADMSG;
	if (c.error)
		return c.error;
	*ret = t;
	return 0;
}

static struct cursor stream_cursor(const struct raws_chunk *chunk, enum raws_stream s)
{
	return cursor_over(chunk->streams[s].data, chunk->streams[s].size);
}

void raws_cursor_start(struct raws_cursor *c, const struct raws_chunk *chunk)
{
	*c = (struct raws_cursor){
		.chunk = chunk,
		.offsets = stream_cursor(chunk, RAWS_OFFSETS),
		.subjects = stream_cursor(chunk, RAWS_SUBJECTS),
		.target_images = stream_cursor(chunk, RAWS_TARGET_IMAGES),
		.targets = stream_cursor(chunk, RAWS_TARGETS),
		.counts_more = stream_cursor(chunk, RAWS_COUNTS_MORE),
	};
}

static void target_decode(struct raws_cursor *c, const struct raws_group *g, struct db_raw_item *to)
{
	const struct dict_images *images = &c->chunk->images;
	uint64_t code = dict_varint(&c->target_images), number = code == 1 ? g->image : code - 2;

	to->target_image = NULL;
	to->target = 0;
	if (!code)
		return;
	if (number >= images->count) {
		c->target_images.error = -EBADMSG;
		return;
	}
	to->target_image = &images->ids[number];
	to->target_path = images->paths[number];
	to->target = dict_varint(&c->targets);
	if (code == 1)
		to->target = to->offset + num_unzigzag(to->target);
}

static void values_decode(struct raws_cursor *c, struct db_raw_item *to)
{
	unsigned count = c->chunk->groups[c->group - 1].value_count;

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *bytes = c->chunk->streams[RAWS_VALUES + i].data;
		uint32_t at = c->values_seen[i]++, step = c->chunk->value_counts[i];

		to->values[i] = 0;
		for (unsigned byte = 0; byte < 8; byte++)
			to->values[i] |= (uint64_t)bytes[(size_t)byte * step + at] << 8 * byte;
	}
}

static int count_decode(struct raws_cursor *c, uint64_t *ret)
{
	uint64_t count = dict_packed_get(&c->chunk->streams[RAWS_COUNTS], 4, c->rows_seen++), more;

	if (count == RAWS_COUNT_ESCAPE) {
		more = dict_varint(&c->counts_more);
		if (more > UINT64_MAX - 1 - RAWS_COUNT_ESCAPE)
			return -EBADMSG;
		count += more;
	}
	*ret = count + 1;
	return 0;
}

static int streams_error(const struct raws_cursor *c)
{
	return c->offsets.error || c->subjects.error || c->target_images.error ||
			       c->targets.error || c->counts_more.error
		       ? -EBADMSG
		       : 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct raws_cursor *c)
{
	size_t left = cursor_left(&c->offsets) + cursor_left(&c->subjects) +
		      cursor_left(&c->target_images) + cursor_left(&c->targets) +
		      cursor_left(&c->counts_more);

	return left ? -EBADMSG : streams_error(c);
}

/* What records of the next group have in common. */
static void group_begin(struct raws_cursor *c, struct db_raw_item *to)
{
	const struct raws_chunk *t = c->chunk;
	const struct raws_group *g = &t->groups[c->group++];

	c->left = g->row_count;
	to->image = &t->images.ids[g->image];
	to->path = t->images.paths[g->image];
	to->event = &t->events[g->event];
	to->form = g->form;
	to->offset = 0;
}

int raws_cursor_next(struct raws_cursor *c, struct db_raw_item *ret)
{
	const struct raws_chunk *t = c->chunk;
	struct db_raw_item next = c->last;
	uint64_t step, subject;

	if (!c->left) {
		if (c->group == t->group_count)
			return streams_end(c);
		group_begin(c, &next);
	}
	step = dict_varint(&c->offsets);
	subject = dict_varint(&c->subjects);
	if (step > UINT64_MAX - next.offset || subject >= t->subject_count)
		return -EBADMSG;
	next.offset += step;
	next.subject = t->subjects[subject];
	target_decode(c, &t->groups[c->group - 1], &next);
	values_decode(c, &next);
	if (count_decode(c, &next.count) < 0 || streams_error(c) ||
	    (c->rows_seen > 1 && db_raw_compare(&c->last, &next) >= 0))
		return -EBADMSG;
	c->left--;
	c->last = next;
	*ret = next;
	return 1;
}

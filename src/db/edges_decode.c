/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/edges.h"

#include <errno.h>
#include <string.h>

static void names_decode(struct cursor *c, struct arena *a, struct edges_chunk *t)
{
	dict_images_decode(c, a, &t->images);
	t->events = dict_events_decode(c, a, &t->event_count);
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static int compare_ids(const struct edges_chunk *t, uint32_t x, uint32_t y)
{
	return memcmp(&t->images.ids[x], &t->images.ids[y], sizeof(*t->images.ids));
}

static void group_decode(struct cursor *c, struct arena *a, const struct edges_chunk *t,
			 struct edges_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), edges = cursor_varint(c);
	uint32_t *targets;

	g->target_count = dict_count_decode(c, t->images.count);
	targets = dict_list_new(c, a, g->target_count, sizeof(*targets));
	g->targets = targets;
	if (!c->error && (image >= t->images.count || event >= t->event_count || !edges ||
			  edges > t->row_count || !g->target_count))
		c->error = -EBADMSG;
	for (uint32_t i = 0; i < g->target_count && !c->error; i++) {
		uint64_t target = cursor_varint(c);

		if (target >= t->images.count ||
		    (i && compare_ids(t, targets[i - 1], (uint32_t)target) >= 0))
			c->error = -EBADMSG;
		targets[i] = (uint32_t)target;
	}
	g->image = (uint32_t)image;
	g->event = (uint32_t)event;
	g->row_count = (uint32_t)edges;
}

static int order_check(const struct edges_chunk *t, uint32_t group)
{
	const struct edges_group *g = &t->groups[group], *last = g - 1;
	int order = group ? compare_ids(t, last->image, g->image) : -1;

	if (order == 0)
		order = db_event_compare(&t->events[last->event], &t->events[g->event]);
	return order < 0 ? 0 : -EBADMSG;
}

static void groups_decode(struct cursor *c, struct arena *a, struct edges_chunk *t)
{
	uint64_t edges = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		group_decode(c, a, t, &t->groups[i]);
		edges += t->groups[i].row_count;
		if (!c->error)
			c->error = order_check(t, i);
	}
	if (!c->error && (cursor_left(c) || edges != t->row_count))
		c->error = -EBADMSG;
}

int edges_chunk_open(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t row_count,
		     struct arena *a, struct edges_chunk *ret)
{
	struct cursor c = cursor_over(streams[EDGES_DICT].data, streams[EDGES_DICT].size);
	struct edges_chunk t = {.row_count = row_count};

	/* A count takes half a byte at least, which bounds all that is allocated for edges. */
	if (row_count > EDGES_CHUNK_MAX || streams[EDGES_COUNTS].size != (row_count + 1) / 2)
		return -EBADMSG;
	memcpy(t.streams, streams, sizeof(t.streams));
	names_decode(&c, a, &t);
	if (c.error)
		return c.error;
	c = cursor_over(streams[EDGES_GROUPS].data, streams[EDGES_GROUPS].size);
	groups_decode(&c, a, &t);
	if (c.error)
		return c.error;
	*ret = t;
	return 0;
}

static struct cursor stream_cursor(const struct edges_chunk *chunk, enum edges_stream s)
{
	return cursor_over(chunk->streams[s].data, chunk->streams[s].size);
}

void edges_cursor_start(struct edges_cursor *c, const struct edges_chunk *chunk)
{
	*c = (struct edges_cursor){
		.chunk = chunk,
		.from_deltas = stream_cursor(chunk, EDGES_FROM),
		.fanout_more = stream_cursor(chunk, EDGES_FANOUT_MORE),
		.images = stream_cursor(chunk, EDGES_IMAGES),
		.to_codes = stream_cursor(chunk, EDGES_TO),
		.counts_more = stream_cursor(chunk, EDGES_COUNTS_MORE),
		.repeats = stream_cursor(chunk, EDGES_REPEATS),
	};
}

/* The next from of the group, and how many edges it has. */
static int from_decode(struct edges_cursor *c)
{
	const struct edges_group *g = &c->chunk->groups[c->group - 1];
	const struct db_bytes *s = &c->chunk->streams[EDGES_FANOUT];
	uint64_t step = dict_varint(&c->from_deltas), fanout;
	uint32_t at = c->froms_seen++;

	if ((!step && c->left != g->row_count) || step > UINT64_MAX - c->from || at / 4 >= s->size)
		return -EBADMSG;
	c->from += step;
	fanout = dict_packed_get(s, 2, at);
	if (fanout == EDGES_FANOUT_ESCAPE) {
		step = dict_varint(&c->fanout_more);
		if (step > EDGES_CHUNK_MAX)
			return -EBADMSG;
		fanout += step;
	}
	if (fanout >= c->left)
		return -EBADMSG;
	c->fanout_left = (uint32_t)fanout + 1;
	c->is_first = true;
	return 0;
}

/* Where the next edge goes; the last is in c. */
static int to_decode(struct edges_cursor *c, const struct edges_group *g)
{
	uint64_t step = g->target_count > 1 ? dict_varint(&c->images) : 0;
	bool is_same = !c->is_first && !step, is_own;
	uint64_t code = dict_varint(&c->to_codes);

	if (c->is_first)
		c->target = 0;
	if (step >= (uint64_t)g->target_count - c->target)
		return -EBADMSG;
	c->target += (uint32_t)step;
	is_own = g->targets[c->target] == g->image;
	if (is_same) {
		if (c->to == DB_EDGE_END || (code ? code >= DB_EDGE_END - c->to : !is_own))
			return -EBADMSG;
		c->to = code ? c->to + code : DB_EDGE_END;
	} else if (is_own) {
		c->to = edges_to_decode(c->from == DB_EDGE_START ? 0 : c->from, code);
	} else {
		c->to = code;
	}
	/* The special ones are of one image, and no window is nothing but a start and an end. */
	if ((c->from == DB_EDGE_START || c->to == DB_EDGE_END) && (!is_own || c->from == c->to))
		return -EBADMSG;
	c->is_first = false;
	return 0;
}

static int count_decode(struct edges_cursor *c, struct db_edge_item *to)
{
	const struct db_bytes *s = &c->chunk->streams[EDGES_COUNTS];
	uint64_t count = dict_packed_get(s, 4, c->edges_seen++), more;

	if (count == EDGES_COUNT_ESCAPE) {
		more = dict_varint(&c->counts_more);
		if (more > UINT64_MAX - 1 - EDGES_COUNT_ESCAPE)
			return -EBADMSG;
		count += more;
	}
	to->count = count + 1;
	more = to->count > 1 ? dict_varint(&c->repeats) : 0;
	if (more >= to->count)
		return -EBADMSG;
	to->windows = to->count - more;
	return 0;
}

static int streams_error(const struct edges_cursor *c)
{
	return c->from_deltas.error || c->fanout_more.error || c->images.error ||
			       c->to_codes.error || c->counts_more.error || c->repeats.error
		       ? -EBADMSG
		       : 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct edges_cursor *c)
{
	size_t left = cursor_left(&c->from_deltas) + cursor_left(&c->fanout_more) +
		      cursor_left(&c->images) + cursor_left(&c->to_codes) +
		      cursor_left(&c->counts_more) + cursor_left(&c->repeats);

	if (left || c->chunk->streams[EDGES_FANOUT].size != (c->froms_seen + 3) / 4)
		return -EBADMSG;
	return streams_error(c);
}

int edges_cursor_next(struct edges_cursor *c, struct db_edge_item *ret)
{
	const struct edges_chunk *t = c->chunk;
	const struct edges_group *g;
	uint32_t target;

	if (!c->left) {
		if (c->group == t->group_count)
			return streams_end(c);
		c->left = t->groups[c->group++].row_count;
		c->from = 0;
	}
	g = &t->groups[c->group - 1];
	if ((!c->fanout_left && from_decode(c) < 0) || to_decode(c, g) < 0 ||
	    count_decode(c, ret) < 0 || streams_error(c))
		return -EBADMSG;
	c->fanout_left--;
	c->left--;
	target = g->targets[c->target];
	ret->image = &t->images.ids[g->image];
	ret->path = t->images.paths[g->image];
	ret->event = &t->events[g->event];
	ret->from = c->from;
	ret->to_image = &t->images.ids[target];
	ret->to_path = t->images.paths[target];
	ret->to = c->to;
	return 1;
}

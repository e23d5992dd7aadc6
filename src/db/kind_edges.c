/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

/* The interned key of an edge. */
struct edge_key {
	uint32_t image, to_image, event, evidence;
	uint64_t from, to;
};

int db_batch_edge(struct db_batch *b, const struct db_edge *edge, uint64_t count, uint64_t windows)
{
	struct edge_key key = {edge->image,    edge->to_image, edge->event,
			       edge->evidence, edge->from,     edge->to};
	bool is_special = edge->from == DB_EDGE_START || edge->to == DB_EDGE_END;

	if (!db_batch_knows(b->images, edge->image) || !db_batch_knows(b->images, edge->to_image) ||
	    !db_batch_knows(b->events, edge->event) || !windows || windows > count ||
	    !edge->evidence || edge->evidence > DB_EVIDENCE_MAX ||
	    (is_special && (edge->image != edge->to_image || edge->from == edge->to)))
		return -EINVAL;
	return db_batch_counted_add(b, CHUNK_EDGES, b->max_rows / 4, &key, sizeof(key),
				    (struct db_batch_sums){count, {windows}});
}

size_t db_batch_edges(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_EDGES]);
}

static void edge_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[CHUNK_EDGES];
	const struct edge_key *e = intern_get(c->keys, index, NULL);

	*(struct db_edge_item *)ret_room = (struct db_edge_item){
		.image = intern_get(b->images, e->image, NULL),
		.path = db_batch_image_path(b, e->image),
		.event = &b->event_list[e->event],
		.evidence = e->evidence,
		.from = e->from,
		.to_image = intern_get(b->images, e->to_image, NULL),
		.to_path = db_batch_image_path(b, e->to_image),
		.to = e->to,
		.count = c->sums[index].count,
		.windows = c->sums[index].more[0],
	};
}

struct build_edge {
	uint64_t from, to, count, windows;
	uint32_t image, target; /* in the dictionary; target later its place in the group's list */
};

struct build_group {
	uint32_t image, event, evidence, first;
};

struct edges_builder {
	struct kind_builder head;
	struct build_edge edges[EDGES_CHUNK_TARGET];
	struct build_group groups[EDGES_CHUNK_TARGET];
	uint32_t group_count;
	struct db_edge_item last; /* the key of the last edge; points into the head */
};

uint64_t edges_to_code(uint64_t base, uint64_t to)
{
	uint64_t end = num_zigzag(DB_EDGE_END - base), code = num_zigzag(to - base);

	if (code == end)
		return 0;
	return code ? code : end;
}

uint64_t edges_to_decode(uint64_t base, uint64_t code)
{
	uint64_t end = num_zigzag(DB_EDGE_END - base);

	if (code == 0)
		return DB_EDGE_END;
	if (code == end)
		return base;
	return base + num_unzigzag(code);
}

static void last_keep(struct edges_builder *b, const struct db_edge_item *e,
		      const struct build_edge *as, bool is_new_group)
{
	const struct build_group *g = &b->groups[b->group_count - 1];

	if (is_new_group)
		dict_event_keep(&b->head.last_event, e->event);
	b->last = (struct db_edge_item){
		.image = intern_get(b->head.names.images, g->image, NULL),
		.event = &b->head.last_event.event,
		.evidence = e->evidence,
		.from = e->from,
		.to_image = intern_get(b->head.names.images, as->target, NULL),
		.to = e->to,
	};
	b->head.last = &b->last;
}

static int edge_add(void *builder, const void *item)
{
	struct edges_builder *b = builder;
	const struct db_edge_item *e = item;
	const struct build_group *last = b->groups + b->group_count - 1;
	struct build_edge *to = b->edges + b->head.count;
	uint32_t image, event;
	bool is_new_group;
	int r = dict_builder_image(&b->head.names, e->image, &e->path, &image);

	if (r == 0)
		r = dict_builder_image(&b->head.names, e->to_image, &e->to_path, &to->target);
	if (r == 0)
		r = dict_builder_event(&b->head.names, e->event, &event);
	if (r < 0)
		return r;
	is_new_group = !b->group_count || last->image != image || last->event != event ||
		       last->evidence != e->evidence;
	if (is_new_group)
		b->groups[b->group_count++] =
			(struct build_group){image, event, e->evidence, b->head.count};
	to->from = e->from;
	to->to = e->to;
	to->count = e->count;
	to->windows = e->windows;
	last_keep(b, e, to, is_new_group);
	b->head.count++;
	return 0;
}

/*
 * Writes a group's header, and renumbers its targets by their place in its list. scratch: for each
 * image of the chunk its place, all UINT32_MAX between groups, and as many for the list.
 */
static uint32_t group_encode(struct edges_builder *b, const struct build_group *g, uint32_t end,
			     struct buf *out, uint32_t *scratch)
{
	uint32_t *place = scratch, *list = scratch + intern_count(b->head.names.images), count = 0;

	for (uint32_t i = g->first; i < end; i++)
		if (place[b->edges[i].target] == UINT32_MAX) {
			place[b->edges[i].target] = 0;
			list[count++] = b->edges[i].target;
		}
	qsort_r(list, count, sizeof(*list), dict_builder_compare_images, &b->head.names);
	buf_append_varint(out, g->image);
	buf_append_varint(out, g->event);
	buf_append_varint(out, g->evidence);
	buf_append_varint(out, end - g->first);
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		buf_append_varint(out, list[i]);
		place[list[i]] = i;
	}
	for (uint32_t i = g->first; i < end; i++) {
		b->edges[i].image = b->edges[i].target;
		b->edges[i].target = place[b->edges[i].image];
	}
	for (uint32_t i = 0; i < count; i++)
		place[list[i]] = UINT32_MAX;
	return count;
}

struct edge_streams {
	struct buf *streams;
	struct dict_packed fanout, counts;
	uint32_t own, targets; /* of the group: its image, images that it goes to */
};

static void edge_encode(struct edge_streams *s, const struct build_edge *e, bool is_first)
{
	const struct build_edge *last = e - 1;
	uint64_t code;

	if (s->targets > 1)
		buf_append_varint(&s->streams[EDGES_IMAGES],
				  is_first ? e->target : e->target - last->target);
	if (!is_first && last->image == e->image)
		code = e->to == DB_EDGE_END ? 0 : e->to - last->to;
	else if (e->image == s->own)
		code = edges_to_code(e->from == DB_EDGE_START ? 0 : e->from, e->to);
	else
		code = e->to;
	buf_append_varint(&s->streams[EDGES_TO], code);
	dict_count_append(&s->counts, &s->streams[EDGES_COUNTS_MORE], e->count);
	if (e->count > 1)
		buf_append_varint(&s->streams[EDGES_REPEATS], e->count - e->windows);
}

static void group_edges_encode(struct edge_streams *s, const struct build_edge *e,
			       const struct build_edge *end)
{
	uint64_t from = 0;

	while (e < end) {
		const struct build_edge *first = e;
		uint32_t fanout = 1;

		while (e + fanout < end && e[fanout].from == e->from)
			fanout++;
		buf_append_varint(&s->streams[EDGES_FROM], e->from - from);
		from = e->from;
		dict_packed_append(&s->fanout, EDGES_FANOUT_ESCAPE, &s->streams[EDGES_FANOUT_MORE],
				   fanout - 1);
		for (; e < first + fanout; e++)
			edge_encode(s, e, e == first);
	}
}

static void groups_encode(struct edges_builder *b, struct buf *streams, uint32_t *scratch)
{
	struct edge_streams s = {streams, .fanout = {&streams[EDGES_FANOUT], .bits = 2},
				 .counts = {&streams[EDGES_COUNTS], .bits = DICT_COUNT_BITS}};
	uint32_t end;

	buf_append_varint(&streams[EDGES_GROUPS], b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		end = g + 1 < b->group_count ? b->groups[g + 1].first : b->head.count;
		s.own = b->groups[g].image;
		s.targets = group_encode(b, &b->groups[g], end, &streams[EDGES_GROUPS], scratch);
		group_edges_encode(&s, b->edges + b->groups[g].first, b->edges + end);
	}
}

static int edges_encode(void *builder, struct buf *streams)
{
	struct edges_builder *b = builder;
	size_t images = intern_count(b->head.names.images);
	uint32_t *scratch = malloc((images + 1) * 2 * sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	memset(scratch, 0xff, images * sizeof(*scratch));
	dict_builder_encode_images(&b->head.names, &streams[EDGES_DICT]);
	dict_encode(&streams[EDGES_DICT], b->head.names.events);
	groups_encode(b, streams, scratch);
	free(scratch);
	return 0;
}

struct edges_group {
	uint32_t image, event, row_count, target_count;
	enum db_evidence evidence;
	const uint32_t *targets; /* numbers of images in the chunk's dictionary, by ascending id */
};

/* Steps through the edges of a chunk. */
struct edges_cursor {
	struct kind_cursor head;
	struct edges_group *groups;
	uint32_t group_count;
	uint32_t froms_seen;	      /* where in the packed stream */
	uint32_t group, left;	      /* groups begun; edges left in the current one */
	uint32_t fanout_left, target; /* of the current from; place of the last to's image */
	bool is_first;		      /* the next edge is the first of its from */
	uint64_t from, to;
};

static int compare_ids(const struct edges_cursor *t, uint32_t x, uint32_t y)
{
	return memcmp(&t->head.images.ids[x], &t->head.images.ids[y], sizeof(*t->head.images.ids));
}

static void group_decode(struct cursor *c, struct arena *a, const struct edges_cursor *t,
			 struct edges_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), evidence = cursor_varint(c),
		 edges = cursor_varint(c);
	uint32_t *targets;

	g->target_count = dict_count_decode(c, t->head.images.count);
	targets = dict_list_new(c, a, g->target_count, sizeof(*targets));
	g->targets = targets;
	if (!c->error &&
	    (image >= t->head.images.count || event >= t->head.event_count || !evidence ||
	     evidence > DB_EVIDENCE_MAX || !edges || edges > t->head.count || !g->target_count))
		c->error = -EBADMSG;
	for (uint32_t i = 0; i < g->target_count && !c->error; i++) {
		uint64_t target = cursor_varint(c);

		if (target >= t->head.images.count ||
		    (i && compare_ids(t, targets[i - 1], (uint32_t)target) >= 0))
			c->error = -EBADMSG;
		targets[i] = (uint32_t)target;
	}
	g->image = (uint32_t)image;
	g->event = (uint32_t)event;
	g->evidence = (enum db_evidence)evidence;
	g->row_count = (uint32_t)edges;
}

static int order_check(const struct edges_cursor *t, uint32_t group)
{
	const struct edges_group *g = &t->groups[group], *last = g - 1;
	int order = group ? compare_ids(t, last->image, g->image) : -1;

	if (order == 0)
		order = db_event_compare(&t->head.events[last->event], &t->head.events[g->event]);
	if (order == 0)
		order = NUM_ORDER(last->evidence, g->evidence);
	return order < 0 ? 0 : -EBADMSG;
}

static void groups_decode(struct cursor *c, struct arena *a, struct edges_cursor *t)
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
	if (!c->error && (cursor_left(c) || edges != t->head.count))
		c->error = -EBADMSG;
}

static int edges_open(void *cursor, struct arena *a)
{
	struct edges_cursor *t = cursor;
	const struct db_bytes *s = &t->head.streams[EDGES_GROUPS];
	struct cursor c = cursor_over(s->data, s->size);

	groups_decode(&c, a, t);
	return c.error;
}

/* The next from of the group, and how many edges it has. */
static int from_decode(struct edges_cursor *c)
{
	const struct edges_group *g = &c->groups[c->group - 1];
	const struct db_bytes *s = &c->head.streams[EDGES_FANOUT];
	uint64_t step = dict_varint(&c->head.at[EDGES_FROM]), fanout;
	uint32_t at = c->froms_seen++;

	if ((!step && c->left != g->row_count) || step > UINT64_MAX - c->from || at / 4 >= s->size)
		return -EBADMSG;
	c->from += step;
	fanout = dict_packed_get(s, 2, at);
	if (fanout == EDGES_FANOUT_ESCAPE) {
		step = dict_varint(&c->head.at[EDGES_FANOUT_MORE]);
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
	uint64_t step = g->target_count > 1 ? dict_varint(&c->head.at[EDGES_IMAGES]) : 0;
	bool is_same = !c->is_first && !step, is_own;
	uint64_t code = dict_varint(&c->head.at[EDGES_TO]);

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
	uint64_t more;

	if (kind_cursor_count(&c->head, EDGES_COUNTS, &to->count) < 0)
		return -EBADMSG;
	more = to->count > 1 ? dict_varint(&c->head.at[EDGES_REPEATS]) : 0;
	if (more >= to->count)
		return -EBADMSG;
	to->windows = to->count - more;
	return 0;
}

static int edges_next(void *cursor, void *ret_item)
{
	struct edges_cursor *c = cursor;
	struct db_edge_item *ret = ret_item;
	const struct dict_images *images = &c->head.images;
	const struct edges_group *g;
	uint32_t target;

	if (!c->left) {
		if (c->group == c->group_count)
			return c->head.streams[EDGES_FANOUT].size == (c->froms_seen + 3) / 4
				       ? kind_cursor_end(&c->head)
				       : -EBADMSG;
		c->left = c->groups[c->group++].row_count;
		c->from = 0;
	}
	g = &c->groups[c->group - 1];
	if ((!c->fanout_left && from_decode(c) < 0) || to_decode(c, g) < 0 ||
	    count_decode(c, ret) < 0 || kind_cursor_failed(&c->head, EDGES_STREAMS))
		return -EBADMSG;
	c->fanout_left--;
	c->left--;
	target = g->targets[c->target];
	ret->image = &images->ids[g->image];
	ret->path = images->paths[g->image];
	ret->event = &c->head.events[g->event];
	ret->evidence = g->evidence;
	ret->from = c->from;
	ret->to_image = &images->ids[target];
	ret->to_path = images->paths[target];
	ret->to = c->to;
	return 1;
}

static int edges_compare(const void *x, const void *y)
{
	return db_edge_compare(x, y);
}

const struct db_kind kind_edges = {
	.type = CHUNK_EDGES,
	.items = {"edge", "edges"},
	.json = "edges",
	.total = {"pass", "passes"},
	.loss = {"pass over", "passes over"},
	.lost = "edges.damaged",
	.item_size = sizeof(struct db_edge_item),
	.count_at = offsetof(struct db_edge_item, count),
	.more_at = {offsetof(struct db_edge_item, windows)},
	.is_labelled = true,
	.image_at = offsetof(struct db_edge_item, image),
	.path_at = offsetof(struct db_edge_item, path),
	.compare = edges_compare,
	.make = edge_make,
	.room_size = sizeof(struct db_edge_item),
	.chunk_target = EDGES_CHUNK_TARGET,
	.name_target = 2 * EDGES_CHUNK_TARGET,
	.dict_target = EDGES_DICT_TARGET,
	.builder_size = sizeof(struct edges_builder),
	.add = edge_add,
	.encode = edges_encode,
	.stream_count = EDGES_STREAMS,
	.chunk_max = EDGES_CHUNK_MAX,
	.has_events = true,
	.counts_stream = EDGES_COUNTS,
	.stepped = 1 << EDGES_FROM | 1 << EDGES_FANOUT_MORE | 1 << EDGES_IMAGES | 1 << EDGES_TO |
		   1 << EDGES_COUNTS_MORE | 1 << EDGES_REPEATS,
	.cursor_size = sizeof(struct edges_cursor),
	.open = edges_open,
	.next = edges_next,
};

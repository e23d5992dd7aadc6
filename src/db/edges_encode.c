/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/dict_build.h"
#include "util/num.h"

struct build_edge {
	uint64_t from, to, count, windows;
	uint32_t image, target; /* in the dictionary; target later its place in the group's list */
};

struct build_group {
	uint32_t image, event, first;
};

struct edges_builder {
	struct build_edge *edges; /* room for EDGES_CHUNK_TARGET, as have the groups */
	struct build_group *groups;
	uint32_t edge_count, group_count;
	uint64_t passes;
	struct db_edge_item last; /* the key of the last edge; points into what follows */
	struct dict_event last_event;
	struct dict_builder names;
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

static int builder_empty(struct edges_builder *b)
{
	b->edge_count = b->group_count = 0;
	b->passes = 0;
	return dict_builder_empty(&b->names, 2 * EDGES_CHUNK_TARGET);
}

struct edges_builder *edges_builder_new(void)
{
	struct edges_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	dict_builder_init(&b->names, EDGES_DICT_TARGET);
	b->edges = malloc(EDGES_CHUNK_TARGET * sizeof(*b->edges));
	b->groups = malloc(EDGES_CHUNK_TARGET * sizeof(*b->groups));
	if (builder_empty(b) < 0 || !b->edges || !b->groups) {
		edges_builder_free(b);
		return NULL;
	}
	return b;
}

void edges_builder_free(struct edges_builder *b)
{
	if (!b)
		return;
	dict_builder_free(&b->names);
	free(b->edges);
	free(b->groups);
	free(b);
}

uint32_t edges_builder_count(const struct edges_builder *b)
{
	return b->edge_count;
}

bool edges_builder_takes(const struct edges_builder *b, const struct db_edge_item *e)
{
	if (b->edge_count == EDGES_CHUNK_TARGET || b->names.bytes > EDGES_DICT_TARGET)
		return false;
	return !b->edge_count || db_edge_compare(&b->last, e) < 0;
}

static void last_keep(struct edges_builder *b, const struct db_edge_item *e,
		      const struct build_edge *as, bool is_new_group)
{
	const struct build_group *g = &b->groups[b->group_count - 1];

	if (is_new_group)
		dict_event_keep(&b->last_event, e->event);
	b->last = (struct db_edge_item){
		.image = intern_get(b->names.images, g->image, NULL),
		.event = &b->last_event.event,
		.from = e->from,
		.to_image = intern_get(b->names.images, as->target, NULL),
		.to = e->to,
	};
}

int edges_builder_add(struct edges_builder *b, const struct db_edge_item *e)
{
	const struct build_group *last = b->groups + b->group_count - 1;
	struct build_edge *to = b->edges + b->edge_count;
	uint32_t image, event;
	bool is_new_group;
	int r;

	r = dict_builder_image(&b->names, e->image, &e->path, &image);
	if (r == 0)
		r = dict_builder_image(&b->names, e->to_image, &e->to_path, &to->target);
	if (r == 0)
		r = dict_builder_event(&b->names, e->event, &event);
	if (r < 0)
		return r;
	is_new_group = !b->group_count || last->image != image || last->event != event;
	if (is_new_group)
		b->groups[b->group_count++] = (struct build_group){image, event, b->edge_count};
	to->from = e->from;
	to->to = e->to;
	to->count = e->count;
	to->windows = e->windows;
	last_keep(b, e, to, is_new_group);
	b->edge_count++;
	b->passes = num_add_sat(b->passes, e->count);
	return 0;
}

/*
 * Writes a group's header, and renumbers its targets by their place in its list. scratch: for each
 * image of the chunk its place, all UINT32_MAX between groups, and as many for the list.
 */
static uint32_t group_encode(struct edges_builder *b, const struct build_group *g, uint32_t end,
			     struct buf *out, uint32_t *scratch)
{
	uint32_t *place = scratch, *list = scratch + intern_count(b->names.images), count = 0;

	for (uint32_t i = g->first; i < end; i++)
		if (place[b->edges[i].target] == UINT32_MAX) {
			place[b->edges[i].target] = 0;
			list[count++] = b->edges[i].target;
		}
	qsort_r(list, count, sizeof(*list), dict_builder_compare_images, &b->names);
	buf_append_varint(out, g->image);
	buf_append_varint(out, g->event);
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
	dict_packed_append(&s->counts, EDGES_COUNT_ESCAPE, &s->streams[EDGES_COUNTS_MORE],
			   e->count - 1);
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
				 .counts = {&streams[EDGES_COUNTS], .bits = 4}};
	uint32_t end;

	buf_append_varint(&streams[EDGES_GROUPS], b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		end = g + 1 < b->group_count ? b->groups[g + 1].first : b->edge_count;
		s.own = b->groups[g].image;
		s.targets = group_encode(b, &b->groups[g], end, &streams[EDGES_GROUPS], scratch);
		group_edges_encode(&s, b->edges + b->groups[g].first, b->edges + end);
	}
}

int edges_builder_finish(struct edges_builder *b, int zstd_level, struct buf *out,
			 struct chunk_header *ret)
{
	size_t images = intern_count(b->names.images);
	uint32_t *scratch = malloc((images + 1) * 2 * sizeof(*scratch));
	struct chunk_header h = {CHUNK_EDGES, .rows = b->edge_count, .samples = b->passes};
	struct buf streams[EDGES_STREAMS];
	int r, emptied;

	if (!scratch)
		return -ENOMEM;
	memset(scratch, 0xff, images * sizeof(*scratch));
	chunk_streams_init(streams, EDGES_STREAMS);
	dict_builder_encode_images(&b->names, &streams[EDGES_DICT]);
	dict_encode(&streams[EDGES_DICT], b->names.events);
	groups_encode(b, streams, scratch);
	r = chunk_append(out, &h, streams, EDGES_STREAMS, zstd_level);
	chunk_streams_free(streams, EDGES_STREAMS);
	free(scratch);
	emptied = builder_empty(b);
	if (r < 0 || emptied < 0)
		return r < 0 ? r : emptied;
	*ret = h;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/edges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/catalog.h"
#include "util/num.h"

struct build_edge {
	uint64_t from, to, count, windows;
	uint32_t image, target; /* in the dictionary; target later its place in the group's list */
};

struct build_group {
	uint32_t image, event, first;
};

struct build_image {
	struct image_id id;
	struct db_bytes path; /* of its own */
};

struct edges_builder {
	struct build_edge *edges; /* room for EDGES_CHUNK_TARGET, as have the groups */
	struct build_group *groups;
	uint32_t edge_count, group_count;
	uint64_t passes;
	struct db_edge_item last; /* the key of the last edge; points into what follows */
	struct db_event last_event;
	char last_event_name[DB_NAME_MAX + 1];
	/* Images by id alone: that an image was met under two paths does not make it two. */
	struct intern *images, *events;
	struct build_image *image_list; /* room for image_room */
	uint32_t image_room;
	size_t dict_bytes;
	struct buf entry; /* of a dictionary, in the making */
};

static uint64_t zigzag(uint64_t distance)
{
	return (distance << 1) ^ (0 - (distance >> 63));
}

uint64_t edges_to_code(uint64_t base, uint64_t to)
{
	uint64_t end = zigzag(DB_EDGE_END - base), code = zigzag(to - base);

	if (code == end)
		return 0;
	return code ? code : end;
}

uint64_t edges_to_decode(uint64_t base, uint64_t code)
{
	uint64_t end = zigzag(DB_EDGE_END - base);

	if (code == 0)
		return DB_EDGE_END;
	if (code == end)
		return base;
	return base + ((code >> 1) ^ (0 - (code & 1)));
}

static void lists_free(struct edges_builder *b)
{
	for (uint32_t i = 0; b->images && i < intern_count(b->images); i++)
		free((void *)b->image_list[i].path.data);
	intern_free(b->images);
	intern_free(b->events);
	b->images = b->events = NULL;
}

static int builder_empty(struct edges_builder *b)
{
	lists_free(b);
	b->images = intern_new(2 * EDGES_CHUNK_TARGET);
	b->events = intern_new(EDGES_CHUNK_TARGET);
	b->edge_count = b->group_count = 0;
	b->passes = b->dict_bytes = 0;
	return b->images && b->events ? 0 : -ENOMEM;
}

struct edges_builder *edges_builder_new(void)
{
	struct edges_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	buf_init(&b->entry, EDGES_DICT_TARGET);
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
	lists_free(b);
	buf_free(&b->entry);
	free(b->image_list);
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
	if (b->edge_count == EDGES_CHUNK_TARGET || b->dict_bytes > EDGES_DICT_TARGET)
		return false;
	return !b->edge_count || db_edge_compare(&b->last, e) < 0;
}

static int image_number(struct edges_builder *b, const struct image_id *id,
			const struct db_bytes *path, uint32_t *ret)
{
	uint32_t count = intern_count(b->images), room = b->image_room ? 2 * b->image_room : 64;
	struct build_image *grown;
	void *copy;
	int r;

	if (intern_find(b->images, id, sizeof(*id), ret) == 0)
		return 0;
	if (count == b->image_room) {
		grown = realloc(b->image_list, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->image_list = grown;
		b->image_room = room;
	}
	copy = malloc(path->size + 1);
	r = copy ? intern_add(b->images, id, sizeof(*id), ret) : -ENOMEM;
	if (r < 0) {
		free(copy);
		return r;
	}
	if (path->size)
		memcpy(copy, path->data, path->size);
	b->image_list[count] = (struct build_image){*id, {copy, path->size}};
	b->dict_bytes += sizeof(*id) + path->size;
	return 0;
}

static int event_number(struct edges_builder *b, const struct db_event *event, uint32_t *ret)
{
	uint32_t before = intern_count(b->events);
	int r;

	buf_clear(&b->entry);
	event_encode(&b->entry, event);
	if (b->entry.error)
		return b->entry.error;
	r = intern_add(b->events, b->entry.data, b->entry.size, ret);
	if (r == 0 && intern_count(b->events) > before)
		b->dict_bytes += b->entry.size;
	return r;
}

static void last_keep(struct edges_builder *b, const struct db_edge_item *e,
		      const struct build_edge *as, bool is_new_group)
{
	const struct build_group *g = &b->groups[b->group_count - 1];

	if (is_new_group) {
		snprintf(b->last_event_name, sizeof(b->last_event_name), "%s", e->event->name);
		b->last_event =
			(struct db_event){b->last_event_name, e->event->period, e->event->flags};
	}
	b->last = (struct db_edge_item){
		.image = intern_get(b->images, g->image, NULL),
		.event = &b->last_event,
		.from = e->from,
		.to_image = intern_get(b->images, as->target, NULL),
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

	r = image_number(b, e->image, &e->path, &image);
	if (r == 0)
		r = image_number(b, e->to_image, &e->to_path, &to->target);
	if (r == 0)
		r = event_number(b, e->event, &event);
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

static void images_encode(const struct edges_builder *b, struct buf *out)
{
	uint32_t count = intern_count(b->images);

	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++)
		dict_image_encode(out, &b->image_list[i].id, &b->image_list[i].path);
}

static int compare_images(const void *x, const void *y, void *arg)
{
	const struct build_image *list = arg;

	return memcmp(&list[*(const uint32_t *)x].id, &list[*(const uint32_t *)y].id,
		      sizeof(list->id));
}

/*
 * Writes a group's header, and renumbers its targets by their place in its list. scratch: for each
 * image of the chunk its place, all UINT32_MAX between groups, and as many for the list.
 */
static uint32_t group_encode(struct edges_builder *b, const struct build_group *g, uint32_t end,
			     struct buf *out, uint32_t *scratch)
{
	uint32_t *place = scratch, *list = scratch + intern_count(b->images), count = 0;

	for (uint32_t i = g->first; i < end; i++)
		if (place[b->edges[i].target] == UINT32_MAX) {
			place[b->edges[i].target] = 0;
			list[count++] = b->edges[i].target;
		}
	qsort_r(list, count, sizeof(*list), compare_images, b->image_list);
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
	size_t images = intern_count(b->images);
	uint32_t *scratch = malloc((images + 1) * 2 * sizeof(*scratch));
	struct chunk_header h = {CHUNK_EDGES, .rows = b->edge_count, .samples = b->passes};
	struct buf streams[EDGES_STREAMS];
	int r, emptied;

	if (!scratch)
		return -ENOMEM;
	memset(scratch, 0xff, images * sizeof(*scratch));
	for (unsigned i = 0; i < EDGES_STREAMS; i++)
		buf_init(&streams[i], CHUNK_RAW_MAX);
	images_encode(b, &streams[EDGES_DICT]);
	dict_encode(&streams[EDGES_DICT], b->events);
	groups_encode(b, streams, scratch);
	r = chunk_append(out, &h, streams, EDGES_STREAMS, zstd_level);
	for (unsigned i = 0; i < EDGES_STREAMS; i++)
		buf_free(&streams[i]);
	free(scratch);
	emptied = builder_empty(b);
	if (r < 0 || emptied < 0)
		return r < 0 ? r : emptied;
	*ret = h;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/array.h"
#include "util/num.h"

#define LIST_FIRST 64

static int images_compare(const struct image_id *a, const struct image_id *b)
{
	return a == b ? 0 : memcmp(a, b, sizeof(*a));
}

int db_value_compare(const struct db_value_item *a, const struct db_value_item *b)
{
	int order = images_compare(a->image, b->image) ?: NUM_ORDER(a->offset, b->offset)
			    ?: NUM_ORDER(a->kind, b->kind)
			    ?: NUM_ORDER(!!a->site_image, !!b->site_image);

	if (!order && a->site_image)
		order = images_compare(a->site_image, b->site_image) ?: NUM_ORDER(a->site, b->site);
	return order;
}

static int values_compare(const void *x, const void *y)
{
	return db_value_compare(x, y);
}

static void values_merge(void *to, const void *equal)
{
	struct db_value_item *t = to;
	const struct db_value_item *e = equal;

	value_summary_merge(&t->of.summary, &e->of.summary, t->kind);
}

/* A place as it is interned. */
struct value_key {
	uint64_t offset, site;
	uint32_t image, site_image, kind, unused;
};

/* The summary of a place, a new one if there is none. */
static int summary_of(struct db_batch *b, const struct db_value *place, uint32_t room,
		      uint64_t count, struct value_summary **ret)
{
	const struct value_key key = {place->offset,	 place->site, place->image,
				      place->site_image, place->kind, 0};
	struct db_batch_counted *c = &b->counted[CHUNK_VALUES];
	size_t before = db_batch_counted_size(c);
	uint32_t index;
	bool is_new = !c->keys || intern_find(c->keys, &key, sizeof(key), &index) < 0;

	if (!db_batch_knows(b->images, place->image) || !value_kind_name(place->kind) || !count ||
	    (place->site_image != DB_VALUE_NO_SITE &&
	     !db_batch_knows(b->images, place->site_image)) ||
	    (room != VALUES_FEW && room != VALUES_MANY))
		return -EINVAL;
	if (!is_new && b->summaries[index]->hot.room < room)
		return -EINVAL;
	if (is_new) {
		int r = array_grow(&b->summaries, before, &b->summary_room, sizeof(*b->summaries),
				   LIST_FIRST);

		if (r)
			return r;
		index = (uint32_t)before;
		b->summaries[index] = malloc(value_summary_bytes(room));
		if (!b->summaries[index])
			return -ENOMEM;
		value_summary_init(b->summaries[index], room);
	}
	int r = db_batch_counted_add(b, CHUNK_VALUES, b->max_rows / 16 + 1, &key, sizeof(key),
				     (struct db_batch_sums){.count = count});
	if (!r)
		*ret = b->summaries[index];
	else if (is_new)
		free(b->summaries[index]);
	return r;
}

int db_batch_value(struct db_batch *b, const struct db_value *place, uint32_t room,
		   const struct value_sample *sample, bool with_content)
{
	struct value_summary *s;
	int r = sample->width > 3 ? -EINVAL : summary_of(b, place, room, 1, &s);

	if (!r)
		value_summary_add(s, place->kind, sample, with_content);
	return r;
}

int db_batch_value_summary(struct db_batch *b, const struct db_value *place,
			   const struct value_summary *summary)
{
	struct value_summary *s;
	int r = summary_of(b, place, summary->hot.room, summary->samples, &s);

	if (!r)
		value_summary_merge(s, summary, place->kind);
	return r;
}

size_t db_batch_values(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_VALUES]);
}

static void value_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct value_key *key = intern_get(b->counted[CHUNK_VALUES].keys, index, NULL);
	const struct value_summary *s = b->summaries[index];
	struct db_value_item *to = ret_room;
	bool has_site = key->site_image != DB_VALUE_NO_SITE;

	to->image = intern_get(b->images, key->image, NULL);
	to->path = db_batch_image_path(b, key->image);
	to->site_image = has_site ? intern_get(b->images, key->site_image, NULL) : NULL;
	to->site_path = has_site ? db_batch_image_path(b, key->site_image) : (struct db_bytes){0};
	to->offset = key->offset;
	to->site = has_site ? key->site : 0;
	to->kind = key->kind;
	to->count = s->samples;
	memcpy(&to->of, s, value_summary_bytes(s->hot.used));
}

struct values_builder {
	struct kind_builder head;
	struct buf streams[VALUES_STREAMS];
	struct dict_packed counts;
	uint32_t image, group, group_count; /* the current one; its items; groups begun */
	size_t bytes;			    /* of the streams */
	struct db_value_item last;	    /* its images are the names' */
};

static int values_start(void *builder)
{
	struct values_builder *b = builder;

	chunk_streams_init(b->streams, VALUES_STREAMS);
	b->counts = (struct dict_packed){&b->streams[VALUES_COUNTS], .bits = DICT_COUNT_BITS};
	b->head.last = &b->last;
	return 0;
}

static void values_end(void *builder)
{
	chunk_streams_free(((struct values_builder *)builder)->streams, VALUES_STREAMS);
}

static bool values_take(const void *builder, const void *item)
{
	const struct values_builder *b = builder;

	return b->bytes < VALUES_CHUNK_BYTES && kind_builder_has_room(&kind_values, &b->head, item);
}

static void group_end(struct values_builder *b)
{
	if (b->group) {
		buf_append_varint(&b->streams[VALUES_GROUPS], b->image);
		buf_append_varint(&b->streams[VALUES_GROUPS], b->group);
		b->group_count++;
	}
	b->group = 0;
}

static void site_encode(struct values_builder *b, const struct db_value_item *v, uint32_t image,
			uint32_t site_image)
{
	bool is_own = v->site_image && site_image == image;

	buf_append_varint(&b->streams[VALUES_SITE_IMAGES], !v->site_image ? 0
							   : is_own	  ? 1
								    : (uint64_t)site_image + 2);
	if (v->site_image)
		buf_append_varint(&b->streams[VALUES_SITES],
				  is_own ? num_zigzag(v->site - v->offset) : v->site);
}

/* Counts are mostly those of all samples or of none. */
static void facts_encode(const struct value_summary *s, struct buf *out)
{
	buf_append_varint(out, s->width | s->aligned << 2);
	buf_append_varint(out, s->zeros);
	buf_append_varint(out, s->negatives);
	buf_append_varint(out, s->again);
	buf_append_varint(out, s->again - s->same);
	for (unsigned i = 0; i < VALUE_WIDTHS; i++)
		buf_append_varint(out, s->samples - s->fits[i]);
}

static void hot_encode(const struct value_summary *s, struct buf *streams)
{
	const struct value_hotlist *h = &s->hot;
	uint64_t first = h->used ? h->list[0].value : 0, at = 0,
		 last = h->used ? h->list[h->used - 1].value : 0;

	buf_append_varint(&streams[VALUES_SHAPES], s->samples - h->samples);
	if (!h->samples)
		return;
	buf_append_varint(&streams[VALUES_SHAPES],
			  (h->threshold - 1) * 2 + (h->room == VALUES_MANY));
	buf_append_varint(&streams[VALUES_SHAPES], h->used);
	buf_append_varint(&streams[VALUES_SPANS], num_zigzag(first - s->low));
	buf_append_varint(&streams[VALUES_SPANS], num_zigzag(s->high - last));
	for (uint32_t i = 0; i < h->used; i++) {
		buf_append_varint(&streams[VALUES_HOT], h->list[i].value - at);
		buf_append_varint(&streams[VALUES_HOT_COUNTS], h->list[i].count - h->threshold);
		at = h->list[i].value;
	}
}

static void last_keep(struct values_builder *b, const struct db_value_item *v, uint32_t site_image)
{
	b->last.image = intern_get(b->head.names.images, b->image, NULL);
	b->last.site_image =
		v->site_image ? intern_get(b->head.names.images, site_image, NULL) : NULL;
	b->last.offset = v->offset;
	b->last.site = v->site;
	b->last.kind = v->kind;
}

static int value_add(void *builder, const void *item)
{
	struct values_builder *b = builder;
	const struct db_value_item *v = item;
	uint32_t image, site_image = 0;
	int r = dict_builder_image(&b->head.names, v->image, &v->path, &image);

	if (!r && v->site_image)
		r = dict_builder_image(&b->head.names, v->site_image, &v->site_path, &site_image);
	if (r)
		return r;
	if (image != b->image)
		group_end(b);
	buf_append_varint(&b->streams[VALUES_OFFSETS], v->offset - (b->group ? b->last.offset : 0));
	buf_append_varint(&b->streams[VALUES_KINDS_OF], v->kind);
	b->image = image;
	site_encode(b, v, image, site_image);
	facts_encode(&v->of.summary, &b->streams[VALUES_FACTS]);
	hot_encode(&v->of.summary, b->streams);
	dict_count_append(&b->counts, &b->streams[VALUES_COUNTS_MORE], v->of.summary.samples);
	last_keep(b, v, site_image);
	b->bytes = 0;
	for (unsigned i = 0; i < VALUES_STREAMS; i++)
		b->bytes += b->streams[i].size;
	b->group++;
	b->head.count++;
	return 0;
}

static int values_encode(void *builder, struct buf *streams)
{
	struct values_builder *b = builder;

	group_end(b);
	dict_builder_encode_images(&b->head.names, &streams[VALUES_DICT]);
	buf_append_varint(&streams[VALUES_GROUPS], b->group_count);
	for (unsigned i = VALUES_GROUPS; i < VALUES_STREAMS; i++) {
		if (b->streams[i].error)
			return b->streams[i].error;
		buf_append(&streams[i], b->streams[i].data, b->streams[i].size);
	}
	return 0;
}

struct values_cursor {
	struct kind_cursor head;
	uint32_t groups_left, left; /* images; items of the current one */
	uint32_t image;
	struct db_value_item last; /* without its summary */
};

static int values_open(void *cursor, struct arena *a)
{
	struct values_cursor *c = cursor;

	(void)a;
	c->groups_left = dict_count_decode(&c->head.at[VALUES_GROUPS], DICT_MAX);
	return c->head.at[VALUES_GROUPS].error;
}

static int group_next(struct values_cursor *c)
{
	const struct dict_images *images = &c->head.images;
	struct cursor *groups = &c->head.at[VALUES_GROUPS];
	uint64_t image = cursor_varint(groups), items = cursor_varint(groups);

	if (groups->error || image >= images->count || !items || items > c->head.count ||
	    (c->head.seen && images_compare(&images->ids[c->image], &images->ids[image]) >= 0))
		return -EBADMSG;
	c->groups_left--;
	c->image = (uint32_t)image;
	c->left = (uint32_t)items;
	return 0;
}

static int site_decode(struct values_cursor *c, struct db_value_item *to)
{
	const struct dict_images *images = &c->head.images;
	uint64_t code = dict_varint(&c->head.at[VALUES_SITE_IMAGES]),
		 number = code == 1 ? c->image : code - 2;

	to->site_image = NULL;
	to->site_path = (struct db_bytes){0};
	to->site = 0;
	if (!code)
		return 0;
	if (number >= images->count)
		return -EBADMSG;
	to->site_image = &images->ids[number];
	to->site_path = images->paths[number];
	to->site = dict_varint(&c->head.at[VALUES_SITES]);
	if (code == 1)
		to->site = to->offset + num_unzigzag(to->site);
	return 0;
}

static int facts_decode(struct values_cursor *c, struct value_summary *s)
{
	struct cursor *at = &c->head.at[VALUES_FACTS];
	uint64_t form = dict_varint(at), differ, unfit;

	s->width = form & 3;
	s->aligned = (uint32_t)(form >> 2);
	s->zeros = dict_varint(at);
	s->negatives = dict_varint(at);
	s->again = dict_varint(at);
	differ = dict_varint(at);
	if (form >> 2 > 64 || s->zeros > s->samples || s->negatives > s->samples ||
	    s->again > s->samples || differ > s->again)
		return -EBADMSG;
	s->same = s->again - differ;
	for (unsigned i = 0; i < VALUE_WIDTHS; i++) {
		unfit = dict_varint(at);
		if (unfit > s->samples)
			return -EBADMSG;
		s->fits[i] = s->samples - unfit;
	}
	return 0;
}

static int list_decode(struct values_cursor *c, struct value_hotlist *h)
{
	uint64_t step, more, at = 0;

	for (uint32_t i = 0; i < h->used; i++) {
		step = dict_varint(&c->head.at[VALUES_HOT]);
		more = dict_varint(&c->head.at[VALUES_HOT_COUNTS]);
		if ((i && !step) || step > UINT64_MAX - at || more > UINT64_MAX - h->threshold)
			return -EBADMSG;
		at += step;
		h->list[i].count = h->threshold + more;
		h->list[i].value = at;
	}
	return 0;
}

static int hot_decode(struct values_cursor *c, struct value_summary *s)
{
	struct cursor *shapes = &c->head.at[VALUES_SHAPES], *spans = &c->head.at[VALUES_SPANS];
	struct value_hotlist *h = &s->hot;
	uint64_t without = dict_varint(shapes), shape, used;

	value_hotlist_init(h, VALUES_FEW);
	s->low = s->high = 0;
	if (without > s->samples)
		return -EBADMSG;
	h->samples = s->samples - without;
	if (!h->samples) {
		value_hotlist_settle(h);
		return 0;
	}
	shape = dict_varint(shapes);
	used = dict_varint(shapes);
	h->room = shape & 1 ? VALUES_MANY : VALUES_FEW;
	if (shape / 2 >= 2 * VALUES_THRESHOLD_MAX || used > h->room)
		return -EBADMSG;
	h->threshold = shape / 2 + 1;
	h->used = (uint32_t)used;
	if (list_decode(c, h) < 0)
		return -EBADMSG;
	value_hotlist_settle(h);
	s->low = (used ? h->list[0].value : 0) - num_unzigzag(dict_varint(spans));
	s->high = (used ? h->list[used - 1].value : 0) + num_unzigzag(dict_varint(spans));
	return 0;
}

static int place_decode(struct values_cursor *c, struct db_value_item *to)
{
	uint64_t step = dict_varint(&c->head.at[VALUES_OFFSETS]),
		 kind = dict_varint(&c->head.at[VALUES_KINDS_OF]);

	if (kind > UINT32_MAX || !value_kind_name((uint32_t)kind) ||
	    step > UINT64_MAX - c->last.offset)
		return -EBADMSG;
	to->image = &c->head.images.ids[c->image];
	to->path = c->head.images.paths[c->image];
	to->offset = c->last.offset + step;
	to->kind = (enum value_kind)kind;
	return site_decode(c, to);
}

static void last_set(struct values_cursor *c, const struct db_value_item *v)
{
	c->last.image = v->image;
	c->last.site_image = v->site_image;
	c->last.offset = v->offset;
	c->last.site = v->site;
	c->last.kind = v->kind;
}

static int values_next(void *cursor, void *ret_item)
{
	struct values_cursor *c = cursor;
	struct db_value_item *to = ret_item;
	struct value_summary *s = &to->of.summary;

	if (!c->left) {
		if (!c->groups_left)
			return c->head.seen == c->head.count ? kind_cursor_end(&c->head) : -EBADMSG;
		if (group_next(c) < 0)
			return -EBADMSG;
		c->last.offset = 0;
	}
	if (c->head.seen == c->head.count || place_decode(c, to) < 0 ||
	    kind_cursor_count(&c->head, VALUES_COUNTS, &to->count) < 0)
		return -EBADMSG;
	s->samples = to->count;
	if (facts_decode(c, s) < 0 || hot_decode(c, s) < 0 ||
	    kind_cursor_failed(&c->head, VALUES_STREAMS) ||
	    (c->head.seen > 1 && db_value_compare(&c->last, to) >= 0))
		return -EBADMSG;
	c->left--;
	last_set(c, to);
	return 1;
}

const struct db_kind kind_values = {
	.type = CHUNK_VALUES,
	.items = {"summary of values", "summaries of values"},
	.json = "values",
	.total = {"value", "values"},
	.loss = {"value in", "values in"},
	.lost = "values.damaged",
	.item_size = sizeof(struct db_value_item),
	.count_at = offsetof(struct db_value_item, count),
	.is_labelled = true,
	.image_at = offsetof(struct db_value_item, image),
	.path_at = offsetof(struct db_value_item, path),
	.compare = values_compare,
	.merge = values_merge,
	.make = value_make,
	.room_size = sizeof(struct db_value_item),
	.chunk_target = VALUES_CHUNK_TARGET,
	.name_target = 2 * VALUES_CHUNK_TARGET, /* each may bring two images */
	.dict_target = VALUES_DICT_TARGET,
	.takes = values_take,
	.builder_size = sizeof(struct values_builder),
	.builder_start = values_start,
	.builder_end = values_end,
	.add = value_add,
	.encode = values_encode,
	.stream_count = VALUES_STREAMS,
	.chunk_max = VALUES_CHUNK_MAX,
	.counts_stream = VALUES_COUNTS,
	.stepped = ((1 << VALUES_STREAMS) - 1) & ~(1 << VALUES_DICT) & ~(1 << VALUES_COUNTS),
	.cursor_size = sizeof(struct values_cursor),
	.open = values_open,
	.next = values_next,
};

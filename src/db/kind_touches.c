/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/touches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

/* The payload of a chunk. Touches are ordered by (image, load, place). */
enum touches_stream {
	TOUCHES_DICT,	/* images */
	TOUCHES_GROUPS, /* image: number of touches */
	TOUCHES_LOADS,	/* each distinct load of a group, minus the one before */
	TOUCHES_FANOUT, /* touches of this load, minus one */
	TOUCHES_PLACES, /* minus the place before it, if that is of the same load */
	TOUCHES_COUNTS, /* see dict_count_append */
	TOUCHES_COUNTS_MORE,
	TOUCHES_STREAMS,
};

/* A writer closes a chunk at so many touches or bytes of names, but never within a load. */
#define TOUCHES_CHUNK_TARGET 32768u
#define TOUCHES_DICT_TARGET  (1u << 20)
#define TOUCHES_CHUNK_MAX    (1u << 20) /* a reader refuses more */

static int touches_compare(const void *x, const void *y)
{
	const struct db_touch_item *a = x, *b = y;
	int order = a->image == b->image ? 0 : memcmp(a->image, b->image, sizeof(*a->image));

	if (!order)
		order = NUM_ORDER(a->load, b->load);
	return order ? order : NUM_ORDER(a->place, b->place);
}

/* A touch as it is interned. */
struct touch_key {
	uint64_t load, place;
	uint32_t image, unused;
};

int db_batch_touch(struct db_batch *b, uint32_t image, uint64_t load, uint64_t place,
		   uint64_t count)
{
	struct touch_key key = {load, place, image, 0};

	if (!db_batch_knows(b->images, image) || !count)
		return -EINVAL;
	return db_batch_counted_add(b, CHUNK_TOUCHES, b->max_rows / 8 + 1, &key, sizeof(key),
				    (struct db_batch_sums){.count = count});
}

static void touch_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[CHUNK_TOUCHES];
	const struct touch_key *key = intern_get(c->keys, index, NULL);

	*(struct db_touch_item *)ret_room = (struct db_touch_item){
		intern_get(b->images, key->image, NULL), db_batch_image_path(b, key->image),
		key->load, key->place, c->sums[index].count};
}

struct touches_builder {
	struct kind_builder head;
	struct buf streams[TOUCHES_STREAMS];
	struct dict_packed counts;
	uint32_t group_count, group; /* images begun; touches of the last */
	uint32_t image, fanout;	     /* of the last touch; touches of its load */
	struct db_touch_item last;   /* its image is the names' */
};

static int touches_builder_start(void *builder)
{
	struct touches_builder *b = builder;

	chunk_streams_init(b->streams, TOUCHES_STREAMS);
	b->counts = (struct dict_packed){&b->streams[TOUCHES_COUNTS], .bits = DICT_COUNT_BITS};
	b->head.last = &b->last;
	return 0;
}

static void touches_builder_end(void *builder)
{
	chunk_streams_free(((struct touches_builder *)builder)->streams, TOUCHES_STREAMS);
}

static bool is_same_load(const struct touches_builder *b, const struct db_touch_item *t)
{
	return b->head.count && b->last.load == t->load &&
	       memcmp(b->last.image, t->image, sizeof(*t->image)) == 0;
}

static bool touches_take(const void *builder, const void *item)
{
	const struct touches_builder *b = builder;

	return kind_builder_has_room(&kind_touches, &b->head, item) ||
	       (is_same_load(b, item) && touches_compare(&b->last, item) < 0);
}

/* What is known at the end of a load, and of an image. */
static void load_end(struct touches_builder *b)
{
	if (b->fanout)
		buf_append_varint(&b->streams[TOUCHES_FANOUT], b->fanout - 1);
	b->fanout = 0;
}

static void group_end(struct touches_builder *b)
{
	load_end(b);
	if (b->group) {
		buf_append_varint(&b->streams[TOUCHES_GROUPS], b->image);
		buf_append_varint(&b->streams[TOUCHES_GROUPS], b->group);
		b->group_count++;
	}
	b->group = 0;
}

static int touch_add(void *builder, const void *item)
{
	struct touches_builder *b = builder;
	const struct db_touch_item *t = item;
	bool goes_on = is_same_load(b, t);
	uint64_t load_before, place_before;
	uint32_t image;
	int r = dict_builder_image(&b->head.names, t->image, &t->path, &image);

	if (r < 0)
		return r;
	if (goes_on && b->fanout == DB_TOUCHES_MAX)
		return 1;
	if (image != b->image)
		group_end(b);
	load_before = b->group ? b->last.load : 0;
	place_before = goes_on ? b->last.place : 0;
	if (!goes_on) {
		load_end(b);
		buf_append_varint(&b->streams[TOUCHES_LOADS], t->load - load_before);
	}
	buf_append_varint(&b->streams[TOUCHES_PLACES], t->place - place_before);
	dict_count_append(&b->counts, &b->streams[TOUCHES_COUNTS_MORE], t->count);
	b->image = image;
	b->last = *t;
	b->last.image = intern_get(b->head.names.images, image, NULL);
	b->fanout++;
	b->group++;
	b->head.count++;
	return 0;
}

static int touches_encode(void *builder, struct buf *streams)
{
	struct touches_builder *b = builder;

	group_end(b);
	dict_builder_encode_images(&b->head.names, &streams[TOUCHES_DICT]);
	buf_append_varint(&streams[TOUCHES_GROUPS], b->group_count);
	for (unsigned i = TOUCHES_GROUPS; i < TOUCHES_STREAMS; i++) {
		if (b->streams[i].error)
			return b->streams[i].error;
		buf_append(&streams[i], b->streams[i].data, b->streams[i].size);
	}
	return 0;
}

struct touches_cursor {
	struct kind_cursor head;
	uint32_t groups_left, left; /* images; touches of the current one */
	uint32_t image, fanout;	    /* the current image; touches of its load that are left */
	bool is_first;		    /* no load of the image was yet */
	uint64_t load, place;
};

static int touches_open(void *cursor, struct arena *a)
{
	struct touches_cursor *c = cursor;

	(void)a;
	c->groups_left = dict_count_decode(&c->head.at[TOUCHES_GROUPS], DICT_MAX);
	return c->head.at[TOUCHES_GROUPS].error;
}

static int group_next(struct touches_cursor *c)
{
	const struct dict_images *images = &c->head.images;
	struct cursor *groups = &c->head.at[TOUCHES_GROUPS];
	uint64_t image = cursor_varint(groups), touches = cursor_varint(groups);

	if (groups->error || image >= images->count || !touches || touches > c->head.count ||
	    (c->head.seen &&
	     memcmp(&images->ids[c->image], &images->ids[image], sizeof(*images->ids)) >= 0))
		return -EBADMSG;
	c->groups_left--;
	c->image = (uint32_t)image;
	c->left = (uint32_t)touches;
	c->load = 0;
	c->is_first = true;
	return 0;
}

static int load_next(struct touches_cursor *c)
{
	uint64_t step = dict_varint(&c->head.at[TOUCHES_LOADS]),
		 fanout = dict_varint(&c->head.at[TOUCHES_FANOUT]);

	if (kind_cursor_failed(&c->head, TOUCHES_STREAMS) || (!step && !c->is_first) ||
	    step > UINT64_MAX - c->load || fanout >= c->left)
		return -EBADMSG;
	c->load += step;
	c->fanout = (uint32_t)fanout + 1;
	c->is_first = false;
	return 0;
}

static int touches_next(void *cursor, void *ret_item)
{
	struct touches_cursor *c = cursor;
	struct db_touch_item *ret = ret_item;
	bool is_first;
	uint64_t step;

	if (!c->left) {
		if (!c->groups_left)
			return c->head.seen == c->head.count ? kind_cursor_end(&c->head) : -EBADMSG;
		if (group_next(c) < 0)
			return -EBADMSG;
	}
	is_first = !c->fanout;
	if (is_first && load_next(c) < 0)
		return -EBADMSG;
	step = dict_varint(&c->head.at[TOUCHES_PLACES]);
	if (c->head.at[TOUCHES_PLACES].error || c->head.seen == c->head.count ||
	    (!is_first && (!step || step > UINT64_MAX - c->place)))
		return -EBADMSG;
	c->place = is_first ? step : c->place + step;
	if (kind_cursor_count(&c->head, TOUCHES_COUNTS, &ret->count) < 0)
		return -EBADMSG;
	c->left--;
	c->fanout--;
	ret->image = &c->head.images.ids[c->image];
	ret->path = c->head.images.paths[c->image];
	ret->load = c->load;
	ret->place = c->place;
	return 1;
}

const struct db_kind kind_touches = {
	.type = CHUNK_TOUCHES,
	.items = {"touch", "touches"},
	.json = "touches",
	.loss = {"window with", "windows with"},
	.lost = "touches.damaged",
	.item_size = sizeof(struct db_touch_item),
	.count_at = offsetof(struct db_touch_item, count),
	.is_labelled = true,
	.image_at = offsetof(struct db_touch_item, image),
	.path_at = offsetof(struct db_touch_item, path),
	.compare = touches_compare,
	.make = touch_make,
	.room_size = sizeof(struct db_touch_item),
	.chunk_target = TOUCHES_CHUNK_TARGET,
	.name_target = TOUCHES_CHUNK_TARGET + DB_TOUCHES_MAX,
	.dict_target = TOUCHES_DICT_TARGET,
	.takes = touches_take,
	.builder_size = sizeof(struct touches_builder),
	.builder_start = touches_builder_start,
	.builder_end = touches_builder_end,
	.add = touch_add,
	.encode = touches_encode,
	.stream_count = TOUCHES_STREAMS,
	.chunk_max = TOUCHES_CHUNK_MAX,
	.counts_stream = TOUCHES_COUNTS,
	.stepped = 1 << TOUCHES_GROUPS | 1 << TOUCHES_LOADS | 1 << TOUCHES_FANOUT |
		   1 << TOUCHES_PLACES | 1 << TOUCHES_COUNTS_MORE,
	.cursor_size = sizeof(struct touches_cursor),
	.open = touches_open,
	.next = touches_next,
};

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/raws.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

/* The interned key of a raw record, up to the last of its values. */
struct raw_key {
	uint32_t image, event, subject, target_image;
	struct db_raw_form form;
	uint32_t unused;
	uint64_t offset, target, values[DB_RAW_VALUES_MAX];
};

int db_batch_raw(struct db_batch *b, const struct db_raw *raw, uint64_t count)
{
	bool aims = raw->target_image != DB_RAW_NO_TARGET;
	unsigned values = db_raw_values(&raw->form);
	struct raw_key key = {
		.image = raw->image,
		.event = raw->event,
		.subject = raw->subject,
		.target_image = raw->target_image,
		.form = raw->form,
		.offset = raw->offset,
		.target = aims ? raw->target : 0,
	};

	if (!db_batch_knows(b->images, raw->image) || !db_batch_knows(b->events, raw->event) ||
	    !db_batch_knows(b->subjects, raw->subject) || values > DB_RAW_VALUES_MAX || !count ||
	    (aims && !db_batch_knows(b->images, raw->target_image)))
		return -EINVAL;
	memcpy(key.values, raw->values, values * sizeof(*key.values));
	return db_batch_counted_add(b, CHUNK_RAWS, b->max_rows / 16 + 1, &key,
				    offsetof(struct raw_key, values) + values * sizeof(*key.values),
				    (struct db_batch_sums){.count = count});
}

size_t db_batch_raws(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_RAWS]);
}

static int compare_targets(const struct db_batch *b, const struct raw_key *x,
			   const struct raw_key *y)
{
	int order = (x->target_image != DB_RAW_NO_TARGET) - (y->target_image != DB_RAW_NO_TARGET);

	if (!order && x->target_image != DB_RAW_NO_TARGET)
		order = db_batch_compare_images(b, x->target_image, y->target_image);
	return order ? order : NUM_ORDER(x->target, y->target);
}

/* As db_raw_compare: by their numbers, as there are many of few images. */
static int compare_batch_raws(const void *first, const void *second, void *batch)
{
	const struct db_batch *b = batch;
	const struct intern *keys = b->counted[CHUNK_RAWS].keys;
	const struct raw_key *x = intern_get(keys, *(const uint32_t *)first, NULL);
	const struct raw_key *y = intern_get(keys, *(const uint32_t *)second, NULL);
	int order = db_batch_compare_images(b, x->image, y->image);

	if (!order && x->event != y->event)
		order = db_event_compare(&b->event_list[x->event], &b->event_list[y->event]);
	if (!order)
		order = db_raw_form_compare(&x->form, &y->form);
	if (!order && x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (!order)
		order = db_batch_compare_subjects(b, x->subject, y->subject);
	if (!order)
		order = compare_targets(b, x, y);
	return order ? order : db_values_compare(x->values, y->values, db_raw_values(&x->form));
}

static void raw_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[CHUNK_RAWS];
	const struct raw_key *key = intern_get(c->keys, index, NULL);
	struct db_raw_item item = {
		.image = intern_get(b->images, key->image, NULL),
		.path = db_batch_image_path(b, key->image),
		.event = &b->event_list[key->event],
		.form = key->form,
		.offset = key->offset,
		.target = key->target,
		.count = c->sums[index].count,
	};

	item.subject.data = intern_get(b->subjects, key->subject, &item.subject.size);
	memcpy(item.values, key->values, db_raw_values(&key->form) * sizeof(*item.values));
	if (key->target_image != DB_RAW_NO_TARGET) {
		item.target_image = intern_get(b->images, key->target_image, NULL);
		item.target_path = db_batch_image_path(b, key->target_image);
	}
	*(struct db_raw_item *)ret_room = item;
}

#define NO_IMAGE UINT32_MAX

struct build_raw {
	uint32_t image, event, subject, target_image; /* numbers of names; or NO_IMAGE */
	struct db_raw_form form;
	unsigned value_count;
	uint64_t offset, target, values[DB_RAW_VALUES_MAX], count;
};

struct raws_builder {
	struct kind_builder head;
	struct build_raw raws[RAWS_CHUNK_TARGET];
	struct db_raw_item last; /* points into the head */
};

static int names_add(struct raws_builder *b, const struct db_raw_item *r, struct build_raw *ret)
{
	int err = dict_builder_image(&b->head.names, r->image, &r->path, &ret->image);

	ret->target_image = NO_IMAGE;
	if (!err && r->target_image)
		err = dict_builder_image(&b->head.names, r->target_image, &r->target_path,
					 &ret->target_image);
	if (!err)
		err = dict_builder_event(&b->head.names, r->event, &ret->event);
	if (!err)
		err = dict_builder_add(&b->head.names, b->head.names.subjects, r->subject.data,
				       r->subject.size, &ret->subject);
	return err;
}

/* The record itself goes when this returns: what it is compared by is the builder's. */
static void last_keep(struct raws_builder *b, const struct db_raw_item *r,
		      const struct build_raw *at)
{
	b->last = *r;
	b->last.image = intern_get(b->head.names.images, at->image, NULL);
	if (r->target_image)
		b->last.target_image = intern_get(b->head.names.images, at->target_image, NULL);
	b->last.subject.data = intern_get(b->head.names.subjects, at->subject, NULL);
	if (!b->head.count || at->event != at[-1].event)
		dict_event_keep(&b->head.last_event, r->event);
	b->last.event = &b->head.last_event.event;
	b->head.last = &b->last;
}

static int raw_add(void *builder, const void *item)
{
	struct raws_builder *b = builder;
	const struct db_raw_item *r = item;
	struct build_raw *at = &b->raws[b->head.count];
	int err = names_add(b, r, at);

	if (err)
		return err;
	at->form = r->form;
	at->value_count = db_raw_values(&r->form);
	at->offset = r->offset;
	at->target = r->target;
	at->count = r->count;
	memcpy(at->values, r->values, sizeof(at->values));
	last_keep(b, r, at);
	b->head.count++;
	return 0;
}

static bool begins_group(const struct build_raw *r)
{
	const struct build_raw *last = r - 1;

	return r->image != last->image || r->event != last->event ||
	       db_raw_form_compare(&r->form, &last->form) != 0;
}

static uint32_t group_end(const struct raws_builder *b, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < b->head.count && !begins_group(&b->raws[end]))
		end++;
	return end;
}

static void groups_encode(const struct raws_builder *b, struct buf *out)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < b->head.count; i = group_end(b, i))
		groups++;
	buf_append_varint(out, groups);
	for (uint32_t i = 0, end; i < b->head.count; i = end) {
		const struct build_raw *r = &b->raws[i];

		end = group_end(b, i);
		buf_append_varint(out, r->image);
		buf_append_varint(out, r->event);
		buf_append_varint(out, r->form.kind);
		buf_append_varint(out, r->form.caps);
		buf_append_varint(out, r->form.mask);
		buf_append_varint(out, end - i);
	}
}

static void target_encode(const struct build_raw *r, struct buf *streams)
{
	bool is_own = r->target_image == r->image;
	uint64_t code = r->target_image == NO_IMAGE ? 0
			: is_own		    ? 1
						    : (uint64_t)r->target_image + 2;

	buf_append_varint(&streams[RAWS_TARGET_IMAGES], code);
	if (code)
		buf_append_varint(&streams[RAWS_TARGETS],
				  is_own ? num_zigzag(r->target - r->offset) : r->target);
}

static void places_encode(const struct raws_builder *b, struct buf *streams)
{
	struct dict_packed counts = {&streams[RAWS_COUNTS], .bits = DICT_COUNT_BITS};

	for (uint32_t i = 0; i < b->head.count; i++) {
		const struct build_raw *r = &b->raws[i];
		uint64_t before = i && !begins_group(r) ? r[-1].offset : 0;

		buf_append_varint(&streams[RAWS_OFFSETS], r->offset - before);
		buf_append_varint(&streams[RAWS_SUBJECTS], r->subject);
		target_encode(r, streams);
		dict_count_append(&counts, &streams[RAWS_COUNTS_MORE], r->count);
	}
}

/* The registers that stand at a place of their records, a byte of all of them after the other. */
static void values_encode(const struct raws_builder *b, unsigned place, struct buf *out)
{
	uint8_t *to = buf_reserve(out, (size_t)b->head.count * 8);

	for (unsigned byte = 0; to && byte < 8; byte++)
		for (uint32_t i = 0; i < b->head.count; i++)
			if (place < b->raws[i].value_count)
				*to++ = (uint8_t)(b->raws[i].values[place] >> 8 * byte);
	if (to)
		out->size = (size_t)(to - out->data);
}

static int raws_encode(void *builder, struct buf *streams)
{
	struct raws_builder *b = builder;

	dict_builder_encode_images(&b->head.names, &streams[RAWS_DICT]);
	dict_encode(&streams[RAWS_DICT], b->head.names.events);
	dict_strings_encode(&streams[RAWS_DICT], b->head.names.subjects);
	groups_encode(b, &streams[RAWS_GROUPS]);
	places_encode(b, streams);
	for (unsigned i = 0; i < DB_RAW_VALUES_MAX; i++)
		values_encode(b, i, &streams[RAWS_VALUES + i]);
	return 0;
}

struct raws_group {
	uint32_t image, event, row_count, value_count;
	struct db_raw_form form;
};

/* Steps through the records of a chunk. */
struct raws_cursor {
	struct kind_cursor head;
	struct raws_group *groups;
	uint32_t group_count;
	uint32_t value_counts[DB_RAW_VALUES_MAX]; /* in each stream of values */
	uint32_t group, left; /* groups begun; records left in the current one */
	uint32_t values_seen[DB_RAW_VALUES_MAX];
	struct db_raw_item last;
};

static void group_decode(struct cursor *c, const struct raws_cursor *t, struct raws_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), kind = cursor_varint(c),
		 caps = cursor_varint(c), mask = cursor_varint(c), rows = cursor_varint(c);

	if (!c->error && (image >= t->head.images.count || event >= t->head.event_count ||
			  kind > UINT32_MAX || caps > UINT32_MAX || mask > UINT32_MAX || !rows ||
			  rows > t->head.count || __builtin_popcountll(mask) > DB_RAW_VALUES_MAX))
		c->error = -EBADMSG;
	*g = (struct raws_group){(uint32_t)image, (uint32_t)event, (uint32_t)rows,
				 .form = {(uint32_t)kind, (uint32_t)caps, (uint32_t)mask}};
	g->value_count = db_raw_values(&g->form);
}

static void groups_decode(struct cursor *c, struct arena *a, struct raws_cursor *t)
{
	uint64_t rows = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		struct raws_group *g = &t->groups[i];

		group_decode(c, t, g);
		rows += g->row_count;
		if (rows > t->head.count)
			c->error = -EBADMSG;
		for (unsigned k = 0; k < g->value_count && !c->error; k++)
			t->value_counts[k] += g->row_count;
	}
	if (!c->error && (cursor_left(c) || rows != t->head.count))
		c->error = -EBADMSG;
}

static int raws_open(void *cursor, struct arena *a)
{
	struct raws_cursor *t = cursor;
	const struct db_bytes *s = t->head.streams;
	struct cursor c = cursor_over(s[RAWS_GROUPS].data, s[RAWS_GROUPS].size);

	groups_decode(&c, a, t);
	for (unsigned i = 0; i < DB_RAW_VALUES_MAX && !c.error; i++)
		if (s[RAWS_VALUES + i].size != (size_t)t->value_counts[i] * 8)
			c.error = -EBADMSG;
	return c.error;
}

static void target_decode(struct raws_cursor *c, const struct raws_group *g, struct db_raw_item *to)
{
	const struct dict_images *images = &c->head.images;
	uint64_t code = dict_varint(&c->head.at[RAWS_TARGET_IMAGES]),
		 number = code == 1 ? g->image : code - 2;

	to->target_image = NULL;
	to->target = 0;
	if (!code)
		return;
	if (number >= images->count) {
		c->head.at[RAWS_TARGET_IMAGES].error = -EBADMSG;
		return;
	}
	to->target_image = &images->ids[number];
	to->target_path = images->paths[number];
	to->target = dict_varint(&c->head.at[RAWS_TARGETS]);
	if (code == 1)
		to->target = to->offset + num_unzigzag(to->target);
}

static void values_decode(struct raws_cursor *c, struct db_raw_item *to)
{
	unsigned count = c->groups[c->group - 1].value_count;

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *bytes = c->head.streams[RAWS_VALUES + i].data;
		uint32_t at = c->values_seen[i]++, step = c->value_counts[i];

		to->values[i] = 0;
		for (unsigned byte = 0; byte < 8; byte++)
			to->values[i] |= (uint64_t)bytes[(size_t)byte * step + at] << 8 * byte;
	}
}

/* What records of the next group have in common. */
static void group_begin(struct raws_cursor *c, struct db_raw_item *to)
{
	const struct raws_group *g = &c->groups[c->group++];

	c->left = g->row_count;
	to->image = &c->head.images.ids[g->image];
	to->path = c->head.images.paths[g->image];
	to->event = &c->head.events[g->event];
	to->form = g->form;
	to->offset = 0;
}

static int raws_next(void *cursor, void *ret_item)
{
	struct raws_cursor *c = cursor;
	struct db_raw_item next = c->last;
	uint64_t step, subject;

	if (!c->left) {
		if (c->group == c->group_count)
			return kind_cursor_end(&c->head);
		group_begin(c, &next);
	}
	step = dict_varint(&c->head.at[RAWS_OFFSETS]);
	subject = dict_varint(&c->head.at[RAWS_SUBJECTS]);
	if (step > UINT64_MAX - next.offset || subject >= c->head.subject_count)
		return -EBADMSG;
	next.offset += step;
	next.subject = c->head.subjects[subject];
	target_decode(c, &c->groups[c->group - 1], &next);
	values_decode(c, &next);
	if (kind_cursor_count(&c->head, RAWS_COUNTS, &next.count) < 0 ||
	    kind_cursor_failed(&c->head, RAWS_VALUES) ||
	    (c->head.seen > 1 && db_raw_compare(&c->last, &next) >= 0))
		return -EBADMSG;
	c->left--;
	c->last = next;
	*(struct db_raw_item *)ret_item = next;
	return 1;
}

static int raws_compare(const void *x, const void *y)
{
	return db_raw_compare(x, y);
}

const struct db_kind kind_raws = {
	.type = CHUNK_RAWS,
	.items = {"raw record", "raw records"},
	.json = "raw_records",
	.loss = {"sample with", "samples with"},
	.lost = "raw.damaged",
	.item_size = sizeof(struct db_raw_item),
	.count_at = offsetof(struct db_raw_item, count),
	.is_labelled = true,
	.image_at = offsetof(struct db_raw_item, image),
	.path_at = offsetof(struct db_raw_item, path),
	.compare = raws_compare,
	.make = raw_make,
	.room_size = sizeof(struct db_raw_item),
	.compare_keys = compare_batch_raws,
	.chunk_target = RAWS_CHUNK_TARGET,
	.name_target = 2 * RAWS_CHUNK_TARGET, /* each may bring two images */
	.dict_target = RAWS_DICT_TARGET,
	.builder_size = sizeof(struct raws_builder),
	.add = raw_add,
	.encode = raws_encode,
	.stream_count = RAWS_STREAMS,
	.chunk_max = RAWS_CHUNK_MAX,
	.has_events = true,
	.has_subjects = true,
	.counts_stream = RAWS_COUNTS,
	.stepped = 1 << RAWS_OFFSETS | 1 << RAWS_SUBJECTS | 1 << RAWS_TARGET_IMAGES |
		   1 << RAWS_TARGETS | 1 << RAWS_COUNTS_MORE,
	.cursor_size = sizeof(struct raws_cursor),
	.open = raws_open,
	.next = raws_next,
};

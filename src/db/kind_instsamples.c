/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/instsamples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

#define VALUE_STREAMS (INSTS_STREAMS - INSTS_VALUES)
#define VALUE_BYTES   4

/* The interned key of a sample, up to the last of its values. */
struct inst_key {
	struct db_inst_form form;
	uint32_t image, event, subject, other_image;
	uint64_t offset, other;
	uint32_t values[DB_INST_VALUES_MAX];
};

int db_batch_inst(struct db_batch *b, const struct db_inst *inst, uint64_t count)
{
	bool is_pair = inst->other_image != DB_INST_NO_OTHER;
	unsigned values = db_inst_values(&inst->form);
	struct inst_key key;

	if (!db_batch_knows(b->images, inst->image) || !db_batch_knows(b->events, inst->event) ||
	    !db_batch_knows(b->subjects, inst->subject) || values > DB_INST_VALUES_MAX || !count ||
	    inst->form.unused || (is_pair && !db_batch_knows(b->images, inst->other_image)))
		return -EINVAL;
	key.form = inst->form;
	key.image = inst->image;
	key.event = inst->event;
	key.subject = inst->subject;
	key.other_image = inst->other_image;
	key.offset = inst->offset;
	key.other = is_pair ? inst->other : 0;
	memcpy(key.values, inst->values, values * sizeof(*key.values));
	return db_batch_counted_add(b, CHUNK_INSTSAMPLES, b->max_rows / 4 + 1, &key,
				    offsetof(struct inst_key, values) +
					    values * sizeof(*key.values),
				    (struct db_batch_sums){.count = count});
}

size_t db_batch_insts(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_INSTSAMPLES]);
}

static int form_compare(const struct db_inst_form *a, const struct db_inst_form *b)
{
	return NUM_ORDER(a->source, b->source)
		       ?: NUM_ORDER(a->known[0], b->known[0])
		       ?: NUM_ORDER(a->known[1], b->known[1])
		       ?: NUM_ORDER(a->fields, b->fields);
}

static int values_compare(const uint32_t *a, const uint32_t *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static int images_compare(const struct image_id *a, const struct image_id *b)
{
	return a == b ? 0 : !a || !b ? (a != NULL) - (b != NULL) : memcmp(a, b, sizeof(*a));
}

int db_inst_compare(const struct db_inst_item *a, const struct db_inst_item *b)
{
	int order = images_compare(a->image, b->image);

	if (!order && a->event != b->event)
		order = db_event_compare(a->event, b->event);
	if (!order)
		order = form_compare(&a->form, &b->form);
	if (!order)
		order = NUM_ORDER(a->offset, b->offset);
	if (!order)
		order = db_bytes_compare(&a->subject, &b->subject);
	if (!order)
		order = images_compare(a->other_image, b->other_image);
	if (!order)
		order = NUM_ORDER(a->other, b->other);
	return order ? order : values_compare(a->values, b->values, db_inst_values(&a->form));
}

static int insts_compare(const void *x, const void *y)
{
	return db_inst_compare(x, y);
}

static void inst_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[CHUNK_INSTSAMPLES];
	const struct inst_key *key = intern_get(c->keys, index, NULL);
	struct db_inst_item *item = ret_room;
	bool is_pair = key->other_image != DB_INST_NO_OTHER;

	item->image = intern_get(b->images, key->image, NULL);
	item->path = db_batch_image_path(b, key->image);
	item->event = &b->event_list[key->event];
	item->subject.data = intern_get(b->subjects, key->subject, &item->subject.size);
	item->form = key->form;
	item->offset = key->offset;
	item->other_image = is_pair ? intern_get(b->images, key->other_image, NULL) : NULL;
	item->other_path =
		is_pair ? db_batch_image_path(b, key->other_image) : (struct db_bytes){NULL, 0};
	item->other = key->other;
	item->count = c->sums[index].count;
	memcpy(item->values, key->values, db_inst_values(&key->form) * sizeof(*item->values));
}

/*
 * Samples of a batch are sorted by numbers that are compared at once, since a million are sorted
 * at a time: the rank of what they have in common, their offset, and the rank of their subject with
 * their first value. Only equal ones are looked at whole.
 */
struct sorted {
	uint64_t offset, rest;
	uint32_t group, index;
};

struct sorting {
	const struct db_batch *b;
	const struct intern *groups, *keys;
};

struct group_key {
	struct db_inst_form form;
	uint32_t image, event;
};

static int compare_groups(const void *x, const void *y, void *arg)
{
	const struct sorting *s = arg;
	const struct group_key *a = intern_get(s->groups, *(const uint32_t *)x, NULL),
			       *b = intern_get(s->groups, *(const uint32_t *)y, NULL);

	return db_batch_compare_images(s->b, a->image, b->image)
		       ?: db_event_compare(&s->b->event_list[a->event],
					   &s->b->event_list[b->event])
		       ?: form_compare(&a->form, &b->form);
}

static int compare_subjects(const void *x, const void *y, void *arg)
{
	const struct sorting *s = arg;

	return db_batch_compare_subjects(s->b, *(const uint32_t *)x, *(const uint32_t *)y);
}

/* The place of each of count numbers in that order; NULL: no memory. */
static uint32_t *rank(uint32_t count, int (*compare)(const void *x, const void *y, void *arg),
		      struct sorting *s)
{
	uint32_t *order = malloc((count + 1) * sizeof(*order)),
		 *ranks = malloc((count + 1) * sizeof(*ranks));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order && ranks) {
		qsort_r(order, count, sizeof(*order), compare, s);
		for (uint32_t i = 0; i < count; i++)
			ranks[order[i]] = i;
	}
	free(order);
	if (!order) {
		free(ranks);
		return NULL;
	}
	return ranks;
}

static int compare_sorted(const void *x, const void *y, void *arg)
{
	const struct sorted *a = x, *b = y;
	const struct sorting *s = arg;
	const struct inst_key *j, *k;
	int order = NUM_ORDER(a->group, b->group)
			    ?: NUM_ORDER(a->offset, b->offset)
			    ?: NUM_ORDER(a->rest, b->rest);

	if (order)
		return order;
	j = intern_get(s->keys, a->index, NULL);
	k = intern_get(s->keys, b->index, NULL);
	if (j->other_image != k->other_image) {
		order = NUM_ORDER(j->other_image != DB_INST_NO_OTHER,
				  k->other_image != DB_INST_NO_OTHER);
		order = order ? order
			      : db_batch_compare_images(s->b, j->other_image, k->other_image);
	}
	order = order ?: NUM_ORDER(j->other, k->other);
	return order ? order : values_compare(j->values, k->values, db_inst_values(&j->form));
}

/* The groups' numbers go into the list. 0 or -ENOMEM. */
static int number_groups(const struct sorting *s, struct intern *groups, struct sorted *list,
			 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct inst_key *key = intern_get(s->keys, i, NULL);
		struct group_key group;

		memset(&group, 0, sizeof(group));
		group.form = key->form;
		group.image = key->image;
		group.event = key->event;
		if (intern_add(groups, &group, sizeof(group), &list[i].group))
			return -ENOMEM;
	}
	return 0;
}

static void fill_list(const struct sorting *s, const uint32_t *groups, const uint32_t *subjects,
		      struct sorted *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct inst_key *key = intern_get(s->keys, i, NULL);
		bool is_pair = key->other_image != DB_INST_NO_OTHER;
		uint32_t first = key->form.fields ? key->values[0] : 0;

		list[i].group = groups[list[i].group];
		list[i].offset = key->offset;
		/* Pairs come last, and their other place before their values. */
		list[i].rest =
			(uint64_t)subjects[key->subject] << 32 | (is_pair ? UINT32_MAX : first);
		list[i].index = i;
	}
}

static int each_sorted(struct sorting *s, struct sorted *list, uint32_t count,
		       int (*f)(void *arg, const void *item), void *arg)
{
	uint32_t *subjects =
		rank(s->b->subjects ? intern_count(s->b->subjects) : 0, compare_subjects, s);
	uint32_t *groups = rank(intern_count(s->groups), compare_groups, s);
	struct db_inst_item item;
	int r = groups && subjects ? 0 : -ENOMEM;

	if (!r) {
		fill_list(s, groups, subjects, list, count);
		qsort_r(list, count, sizeof(*list), compare_sorted, s);
	}
	for (uint32_t i = 0; i < count && !r; i++) {
		inst_make(s->b, list[i].index, &item);
		r = f(arg, &item);
	}
	free(groups);
	free(subjects);
	return r;
}

static int insts_each(const struct db_batch *b, int (*f)(void *arg, const void *item), void *arg)
{
	uint32_t count = (uint32_t)db_batch_insts(b);
	struct intern *groups = intern_new(count + 1);
	struct sorted *list = malloc((count + 1) * sizeof(*list));
	struct sorting s = {b, groups, b->counted[CHUNK_INSTSAMPLES].keys};
	int r = groups && list ? number_groups(&s, groups, list, count) : -ENOMEM;

	if (!r)
		r = each_sorted(&s, list, count, f, arg);
	intern_free(groups);
	free(list);
	return r;
}

#define NO_IMAGE UINT32_MAX

struct build_inst {
	uint32_t image, event, subject, other_image; /* numbers of names; or NO_IMAGE */
	struct db_inst_form form;
	uint64_t offset, other, count;
	uint32_t value_count, values[DB_INST_VALUES_MAX];
};

struct insts_builder {
	struct kind_builder head;
	struct build_inst list[INSTS_CHUNK_TARGET];
	struct db_inst_item last; /* points into the head */
};

/* Most samples have the names of the one before. */
static int names_add(struct insts_builder *b, const struct db_inst_item *i, struct build_inst *ret)
{
	struct dict_builder *names = &b->head.names;
	const struct db_inst_item *last = b->head.count ? &b->last : NULL;
	int r = 0;

	*ret = b->head.count ? ret[-1] : (struct build_inst){0};
	if (!last || images_compare(last->image, i->image) != 0)
		r = dict_builder_image(names, i->image, &i->path, &ret->image);
	if (!r && (!last || db_event_compare(last->event, i->event) != 0))
		r = dict_builder_event(names, i->event, &ret->event);
	if (!r && (!last || db_bytes_compare(&last->subject, &i->subject) != 0))
		r = dict_builder_add(names, names->subjects, i->subject.data, i->subject.size,
				     &ret->subject);
	ret->other_image = NO_IMAGE;
	if (!r && i->other_image)
		r = dict_builder_image(names, i->other_image, &i->other_path, &ret->other_image);
	return r;
}

/* The sample itself goes when this returns: what it is compared by is the builder's. */
static void last_keep(struct insts_builder *b, const struct db_inst_item *i,
		      const struct build_inst *at)
{
	if (!b->head.count || at->event != at[-1].event)
		dict_event_keep(&b->head.last_event, i->event);
	b->last.image = intern_get(b->head.names.images, at->image, NULL);
	b->last.other_image =
		i->other_image ? intern_get(b->head.names.images, at->other_image, NULL) : NULL;
	b->last.subject.data = intern_get(b->head.names.subjects, at->subject, NULL);
	b->last.subject.size = i->subject.size;
	b->last.event = &b->head.last_event.event;
	b->last.form = i->form;
	b->last.offset = i->offset;
	b->last.other = i->other;
	memcpy(b->last.values, at->values, at->value_count * sizeof(*at->values));
	b->head.last = &b->last;
}

static int inst_add(void *builder, const void *item)
{
	struct insts_builder *b = builder;
	const struct db_inst_item *i = item;
	struct build_inst *at = &b->list[b->head.count];
	int r = names_add(b, i, at);

	if (r)
		return r;
	at->form = i->form;
	at->value_count = db_inst_values(&i->form);
	at->offset = i->offset;
	at->other = i->other;
	at->count = i->count;
	memcpy(at->values, i->values, at->value_count * sizeof(*at->values));
	last_keep(b, i, at);
	b->head.count++;
	return 0;
}

static bool begins_group(const struct build_inst *i)
{
	const struct build_inst *last = i - 1;

	return i->image != last->image || i->event != last->event ||
	       form_compare(&i->form, &last->form) != 0;
}

static uint32_t group_end(const struct insts_builder *b, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < b->head.count && !begins_group(&b->list[end]))
		end++;
	return end;
}

static void groups_encode(const struct insts_builder *b, struct buf *out)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < b->head.count; i = group_end(b, i))
		groups++;
	buf_append_varint(out, groups);
	for (uint32_t i = 0, end; i < b->head.count; i = end) {
		const struct build_inst *g = &b->list[i];

		end = group_end(b, i);
		buf_append_varint(out, g->image);
		buf_append_varint(out, g->event);
		buf_append_varint(out, g->form.source);
		buf_append_varint(out, g->form.known[0]);
		buf_append_varint(out, g->form.known[1]);
		buf_append_varint(out, g->form.fields);
		buf_append_varint(out, end - i);
	}
}

static void other_encode(const struct build_inst *i, struct buf *streams)
{
	bool is_own = i->other_image == i->image;
	uint64_t code = i->other_image == NO_IMAGE ? 0 : is_own ? 1 : (uint64_t)i->other_image + 2;

	buf_append_varint(&streams[INSTS_OTHER_IMAGES], code);
	if (code)
		buf_append_varint(&streams[INSTS_OTHERS],
				  is_own ? num_zigzag(i->other - i->offset) : i->other);
}

static void places_encode(const struct insts_builder *b, struct buf *streams)
{
	struct dict_packed counts = {&streams[INSTS_COUNTS], .bits = DICT_COUNT_BITS};

	for (uint32_t i = 0; i < b->head.count; i++) {
		const struct build_inst *at = &b->list[i];
		uint64_t before = i && !begins_group(at) ? at[-1].offset : 0;

		buf_append_varint(&streams[INSTS_OFFSETS], at->offset - before);
		buf_append_varint(&streams[INSTS_SUBJECTS], at->subject);
		other_encode(at, streams);
		dict_count_append(&counts, &streams[INSTS_COUNTS_MORE], at->count);
	}
}

/* The values that stand at a place of their samples, a byte of all of them after the other. */
static void values_encode(const struct insts_builder *b, unsigned place, struct buf *out)
{
	uint8_t *first = buf_reserve(out, (size_t)b->head.count * VALUE_BYTES), *to = first;

	for (unsigned byte = 0; to && byte < VALUE_BYTES; byte++)
		for (uint32_t i = 0; i < b->head.count; i++)
			if (place < b->list[i].value_count)
				*to++ = (uint8_t)(b->list[i].values[place] >> 8 * byte);
	if (to)
		out->size += (size_t)(to - first);
}

/* The stream of the values at a place of their samples. */
static unsigned stream_of(unsigned place)
{
	return INSTS_VALUES + (place < VALUE_STREAMS ? place : VALUE_STREAMS - 1);
}

static int insts_encode(void *builder, struct buf *streams)
{
	struct insts_builder *b = builder;
	unsigned places = 0;

	dict_builder_encode_images(&b->head.names, &streams[INSTS_DICT]);
	dict_encode(&streams[INSTS_DICT], b->head.names.events);
	dict_strings_encode(&streams[INSTS_DICT], b->head.names.subjects);
	groups_encode(b, &streams[INSTS_GROUPS]);
	places_encode(b, streams);
	for (uint32_t i = 0; i < b->head.count; i++)
		places = b->list[i].value_count > places ? b->list[i].value_count : places;
	for (unsigned i = 0; i < places; i++)
		values_encode(b, i, &streams[stream_of(i)]);
	return 0;
}

struct insts_group {
	uint32_t image, event, row_count, value_count;
	struct db_inst_form form;
};

/* Steps through the samples of a chunk. */
struct insts_cursor {
	struct kind_cursor head;
	struct insts_group *groups;
	uint32_t group_count;
	uint32_t value_counts[DB_INST_VALUES_MAX];   /* at each place of the samples */
	const uint8_t *value_at[DB_INST_VALUES_MAX]; /* the next one's lowest byte */
	uint32_t group, left; /* groups begun; samples left in the current one */
	struct db_inst_item last;
};

static void group_decode(struct cursor *c, const struct insts_cursor *t, struct insts_group *g)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), source = cursor_varint(c),
		 known = cursor_varint(c), other = cursor_varint(c), fields = cursor_varint(c),
		 rows = cursor_varint(c);

	if (!c->error &&
	    (image >= t->head.images.count || event >= t->head.event_count || source > UINT32_MAX ||
	     known > UINT32_MAX || other > UINT32_MAX || !rows || rows > t->head.count ||
	     __builtin_popcountll(fields) > DB_INST_VALUES_MAX))
		c->error = -EBADMSG;
	*g = (struct insts_group){(uint32_t)image, (uint32_t)event, (uint32_t)rows,
				  .form = {.source = (uint32_t)source,
					   .known = {(uint32_t)known, (uint32_t)other},
					   .fields = fields}};
	g->value_count = db_inst_values(&g->form);
}

static void groups_decode(struct cursor *c, struct arena *a, struct insts_cursor *t)
{
	uint64_t rows = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		struct insts_group *g = &t->groups[i];

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

/* Where the values of each place of the samples begin. 0 or -EBADMSG. */
static int values_open(struct insts_cursor *t)
{
	size_t used[VALUE_STREAMS] = {0};

	for (unsigned i = 0; i < DB_INST_VALUES_MAX; i++) {
		unsigned stream = stream_of(i);
		const struct db_bytes *s = &t->head.streams[stream];
		size_t size = (size_t)t->value_counts[i] * VALUE_BYTES,
		       *at = &used[stream - INSTS_VALUES];

		if (size > s->size - *at)
			return -EBADMSG;
		t->value_at[i] = size ? (const uint8_t *)s->data + *at : NULL;
		*at += size;
	}
	for (unsigned i = 0; i < VALUE_STREAMS; i++)
		if (used[i] != t->head.streams[INSTS_VALUES + i].size)
			return -EBADMSG;
	return 0;
}

static int insts_open(void *cursor, struct arena *a)
{
	struct insts_cursor *t = cursor;
	const struct db_bytes *s = t->head.streams;
	struct cursor c = cursor_over(s[INSTS_GROUPS].data, s[INSTS_GROUPS].size);

	groups_decode(&c, a, t);
	return c.error ? c.error : values_open(t);
}

static void other_decode(struct insts_cursor *c, const struct insts_group *g,
			 struct db_inst_item *to)
{
	const struct dict_images *images = &c->head.images;
	uint64_t code = dict_varint(&c->head.at[INSTS_OTHER_IMAGES]),
		 number = code == 1 ? g->image : code - 2;

	to->other_image = NULL;
	to->other = 0;
	if (!code)
		return;
	if (number >= images->count) {
		c->head.at[INSTS_OTHER_IMAGES].error = -EBADMSG;
		return;
	}
	to->other_image = &images->ids[number];
	to->other_path = images->paths[number];
	to->other = dict_varint(&c->head.at[INSTS_OTHERS]);
	if (code == 1)
		to->other = to->offset + num_unzigzag(to->other);
}

static void values_decode(struct insts_cursor *c, struct db_inst_item *to)
{
	unsigned count = c->groups[c->group - 1].value_count;

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *at = c->value_at[i]++;
		uint32_t step = c->value_counts[i], value = 0;

		for (unsigned byte = 0; byte < VALUE_BYTES; byte++)
			value |= (uint32_t)at[(size_t)byte * step] << 8 * byte;
		to->values[i] = value;
	}
}

/* What samples of the next group have in common. */
static void group_begin(struct insts_cursor *c, struct db_inst_item *to)
{
	const struct insts_group *g = &c->groups[c->group++];

	c->left = g->row_count;
	to->image = &c->head.images.ids[g->image];
	to->path = c->head.images.paths[g->image];
	to->event = &c->head.events[g->event];
	to->form = g->form;
	to->offset = 0;
}

static int insts_next(void *cursor, void *ret_item)
{
	struct insts_cursor *c = cursor;
	struct db_inst_item *next = ret_item;
	uint64_t step, subject;

	*next = c->last;
	if (!c->left) {
		if (c->group == c->group_count)
			return kind_cursor_end(&c->head);
		group_begin(c, next);
	}
	step = dict_varint(&c->head.at[INSTS_OFFSETS]);
	subject = dict_varint(&c->head.at[INSTS_SUBJECTS]);
	if (step > UINT64_MAX - next->offset || subject >= c->head.subject_count)
		return -EBADMSG;
	next->offset += step;
	next->subject = c->head.subjects[subject];
	other_decode(c, &c->groups[c->group - 1], next);
	values_decode(c, next);
	if (kind_cursor_count(&c->head, INSTS_COUNTS, &next->count) < 0 ||
	    kind_cursor_failed(&c->head, INSTS_VALUES) ||
	    (c->head.seen > 1 && db_inst_compare(&c->last, next) >= 0))
		return -EBADMSG;
	c->left--;
	c->last = *next;
	return 1;
}

const struct db_kind kind_instsamples = {
	.type = CHUNK_INSTSAMPLES,
	.items = {"instruction sample", "instruction samples"},
	.json = "instruction_samples",
	.loss = {"sample with", "samples with"},
	.lost = "instsamples.damaged",
	.item_size = sizeof(struct db_inst_item),
	.count_at = offsetof(struct db_inst_item, count),
	.is_labelled = true,
	.image_at = offsetof(struct db_inst_item, image),
	.path_at = offsetof(struct db_inst_item, path),
	.compare = insts_compare,
	.make = inst_make,
	.room_size = sizeof(struct db_inst_item),
	.each = insts_each,
	.chunk_target = INSTS_CHUNK_TARGET,
	.name_target = 2 * INSTS_CHUNK_TARGET, /* each may bring two images */
	.dict_target = INSTS_DICT_TARGET,
	.builder_size = sizeof(struct insts_builder),
	.add = inst_add,
	.encode = insts_encode,
	.stream_count = INSTS_STREAMS,
	.chunk_max = INSTS_CHUNK_MAX,
	.has_events = true,
	.has_subjects = true,
	.counts_stream = INSTS_COUNTS,
	.stepped = 1 << INSTS_OFFSETS | 1 << INSTS_SUBJECTS | 1 << INSTS_OTHER_IMAGES |
		   1 << INSTS_OTHERS | 1 << INSTS_COUNTS_MORE,
	.cursor_size = sizeof(struct insts_cursor),
	.open = insts_open,
	.next = insts_next,
};

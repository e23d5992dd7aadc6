/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"

/* A raw record as it is interned, with the values that it has. */
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
	return db_batch_counted_add(&b->raws, b->max_rows / 16 + 1, &key,
				    offsetof(struct raw_key, values) + values * sizeof(*key.values),
				    count);
}

size_t db_batch_raws(const struct db_batch *b)
{
	return db_batch_counted_size(&b->raws);
}

static int compare_images(const struct db_batch *b, uint32_t x, uint32_t y)
{
	return x == y ? 0
		      : memcmp(intern_get(b->images, x, NULL), intern_get(b->images, y, NULL),
			       sizeof(struct image_id));
}

static int compare_subjects(const struct db_batch *b, uint32_t x, uint32_t y)
{
	struct db_bytes s, t;

	if (x == y)
		return 0;
	s.data = intern_get(b->subjects, x, &s.size);
	t.data = intern_get(b->subjects, y, &t.size);
	return db_bytes_compare(&s, &t);
}

static int compare_targets(const struct db_batch *b, const struct raw_key *x,
			   const struct raw_key *y)
{
	int order = (x->target_image != DB_RAW_NO_TARGET) - (y->target_image != DB_RAW_NO_TARGET);

	if (!order && x->target_image != DB_RAW_NO_TARGET)
		order = compare_images(b, x->target_image, y->target_image);
	return order ? order : (x->target > y->target) - (x->target < y->target);
}

/* As db_raw_compare: by their numbers, as there are many of few images. */
static int compare_raws(const void *first, const void *second, void *batch)
{
	const struct db_batch *b = batch;
	const struct raw_key *x = intern_get(b->raws.keys, *(const uint32_t *)first, NULL);
	const struct raw_key *y = intern_get(b->raws.keys, *(const uint32_t *)second, NULL);
	int order = compare_images(b, x->image, y->image);

	if (!order && x->event != y->event)
		order = db_event_compare(&b->event_list[x->event], &b->event_list[y->event]);
	if (!order)
		order = db_raw_form_compare(&x->form, &y->form);
	if (!order && x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (!order)
		order = compare_subjects(b, x->subject, y->subject);
	if (!order)
		order = compare_targets(b, x, y);
	return order ? order : db_values_compare(x->values, y->values, db_raw_values(&x->form));
}

static struct db_bytes path_of(const struct db_batch *b, uint32_t image)
{
	return (struct db_bytes){b->paths[image].data, b->paths[image].size};
}

/* A record as others see it. */
static struct db_raw_item raw_item(const struct db_batch *b, uint32_t index)
{
	const struct raw_key *key = intern_get(b->raws.keys, index, NULL);
	struct db_raw_item item = {
		.image = intern_get(b->images, key->image, NULL),
		.path = path_of(b, key->image),
		.event = &b->event_list[key->event],
		.form = key->form,
		.offset = key->offset,
		.target = key->target,
		.count = b->raws.counts[index],
	};

	item.subject.data = intern_get(b->subjects, key->subject, &item.subject.size);
	memcpy(item.values, key->values, db_raw_values(&key->form) * sizeof(*item.values));
	if (key->target_image != DB_RAW_NO_TARGET) {
		item.target_image = intern_get(b->images, key->target_image, NULL);
		item.target_path = path_of(b, key->target_image);
	}
	return item;
}

int db_batch_each_raw(const struct db_batch *b, int (*f)(void *arg, const struct db_raw_item *r),
		      void *arg)
{
	uint32_t *order = db_batch_counted_sort(b, &b->raws, compare_raws);
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < db_batch_raws(b) && !r; i++) {
		struct db_raw_item item = raw_item(b, order[i]);

		r = f(arg, &item);
	}
	free(order);
	return r;
}

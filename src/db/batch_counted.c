/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "util/array.h"
#include "util/num.h"

#define COUNTED_FIRST 256

bool db_batch_knows(const struct intern *dict, uint32_t index)
{
	return dict && index < intern_count(dict);
}

size_t db_batch_counted_size(const struct db_batch_counted *c)
{
	return c->keys ? intern_count(c->keys) : 0;
}

int db_batch_counted_add(struct db_batch *b, uint32_t type, size_t max, const void *key,
			 size_t size, struct db_batch_sums sums)
{
	struct db_batch_counted *c = &b->counted[type];
	size_t before = db_batch_counted_size(c);
	struct db_batch_sums *to;
	uint32_t index;

	if (!c->keys)
		c->keys = intern_new((uint32_t)max);
	if (!c->keys)
		return -ENOMEM;
	int r = array_grow(&c->sums, before, &c->room, sizeof(*c->sums), COUNTED_FIRST);
	if (!r)
		r = intern_add(c->keys, key, size, &index);
	if (r)
		return r;
	to = &c->sums[index];
	if (index == before)
		*to = (struct db_batch_sums){0};
	to->count = num_add_sat(to->count, sums.count);
	for (size_t i = 0; i < DB_KIND_MORE; i++)
		to->more[i] = num_add_sat(to->more[i], sums.more[i]);
	return 0;
}

void db_batch_counted_drop(struct db_batch_counted *c)
{
	intern_free(c->keys);
	free(c->sums);
	*c = (struct db_batch_counted){0};
}

struct db_bytes db_batch_image_path(const struct db_batch *b, uint32_t image)
{
	return (struct db_bytes){b->paths[image].data, b->paths[image].size};
}

int db_batch_compare_images(const struct db_batch *b, uint32_t x, uint32_t y)
{
	return x == y ? 0
		      : memcmp(intern_get(b->images, x, NULL), intern_get(b->images, y, NULL),
			       sizeof(struct image_id));
}

int db_batch_compare_subjects(const struct db_batch *b, uint32_t x, uint32_t y)
{
	struct db_bytes s, t;

	if (x == y)
		return 0;
	s.data = intern_get(b->subjects, x, &s.size);
	t.data = intern_get(b->subjects, y, &t.size);
	return db_bytes_compare(&s, &t);
}

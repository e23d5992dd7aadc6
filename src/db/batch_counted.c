/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
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

int db_batch_counted_add(struct db_batch_counted *c, size_t max, const void *key, size_t size,
			 uint64_t count)
{
	size_t before = db_batch_counted_size(c);
	uint32_t index;
	int r;

	if (!c->keys)
		c->keys = intern_new((uint32_t)max);
	if (!c->keys)
		return -ENOMEM;
	r = array_grow(&c->counts, before, &c->room, sizeof(*c->counts), COUNTED_FIRST);
	if (!r)
		r = intern_add(c->keys, key, size, &index);
	if (!r)
		c->counts[index] = num_add_sat(index == before ? 0 : c->counts[index], count);
	return r;
}

void db_batch_counted_drop(struct db_batch_counted *c)
{
	intern_free(c->keys);
	free(c->counts);
	*c = (struct db_batch_counted){0};
}

uint32_t *db_batch_counted_sort(const struct db_batch *b, const struct db_batch_counted *c,
				int (*compare)(const void *, const void *, void *batch))
{
	size_t count = db_batch_counted_size(c);
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (size_t i = 0; order && i < count; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, count, sizeof(*order), compare, (void *)b);
	return order;
}

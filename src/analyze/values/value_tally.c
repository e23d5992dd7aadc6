/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/values/value_tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX ((size_t)1 << 30)
#define IMAGES_MAX (1u << 18)

struct row_key {
	uint64_t offset, site;
	uint32_t image, site_image, kind, unused;
};

int value_tally_init(struct value_tally *t)
{
	t->memory = arena_new(MEMORY_MAX);
	t->row_keys = intern_new(VALUE_TALLY_ROWS_MAX);
	t->image_keys = intern_new(IMAGES_MAX);
	return t->memory && t->row_keys && t->image_keys ? 0 : -ENOMEM;
}

void value_tally_free(struct value_tally *t)
{
	arena_free(t->memory);
	intern_free(t->row_keys);
	intern_free(t->image_keys);
	free(t->rows);
	free(t->images);
}

static int find_image(struct value_tally *t, const struct image_id *id, struct db_bytes path,
		      uint32_t *ret)
{
	const char *copy;
	int r = intern_add(t->image_keys, id, sizeof(*id), ret);

	if (r || *ret < t->image_count)
		return r;
	copy = arena_strndup(t->memory, path.size ? path.data : "", path.size);
	if (!copy || array_grow(&t->images, t->image_count, &t->image_room, sizeof(*t->images), 16))
		return -ENOMEM;
	t->images[t->image_count++] = (struct value_image){*id, copy};
	return 0;
}

/* -ENOSPC: there are too many others. */
static int find_row(struct value_tally *t, const struct db_value_item *item, struct value_row **ret)
{
	struct row_key key = {item->offset, item->site, .site_image = DB_VALUE_NO_SITE,
			      .kind = item->kind};
	struct value_summary *of;
	uint32_t index;
	int r = find_image(t, item->image, item->path, &key.image);

	if (!r && item->site_image)
		r = find_image(t, item->site_image, item->site_path, &key.site_image);
	if (!r)
		r = intern_add(t->row_keys, &key, sizeof(key), &index);
	if (!r && index == t->row_count) {
		r = array_grow(&t->rows, t->row_count, &t->row_room, sizeof(*t->rows), 256);
		of = r ? NULL : arena_alloc(t->memory, value_summary_bytes(VALUES_MANY));
		if (!of)
			return -ENOMEM;
		value_summary_init(of, VALUES_FEW);
		t->rows[t->row_count++] = (struct value_row){key.image, key.site_image, key.offset,
							     key.site,	item->kind,	of};
	}
	if (!r)
		*ret = &t->rows[index];
	return r;
}

int value_tally_add(void *arg, const char *epoch, const struct db_value_item *item)
{
	struct value_tally *t = arg;
	struct value_row *row;

	(void)epoch;
	if (t->image && (memcmp(t->image, item->image, sizeof(*t->image)) != 0 ||
			 item->offset - t->start >= t->size))
		return 0;
	int r = find_row(t, item, &row);
	if (r == -ENOSPC) {
		t->refused += item->count;
		return 0;
	}
	if (!r)
		value_summary_merge(row->of, &item->of.summary, item->kind);
	return r;
}

static int compare_rows(const void *x, const void *y)
{
	const struct value_row *a = x, *b = y;

	return NUM_ORDER(a->image, b->image) ?: NUM_ORDER(a->offset, b->offset)
			       ?: NUM_ORDER(a->kind, b->kind)
			       ?: NUM_ORDER(a->site_image, b->site_image)
			       ?: NUM_ORDER(a->site, b->site);
}

void value_tally_sort(struct value_tally *t)
{
	array_sort(t->rows, t->row_count, sizeof(*t->rows), compare_rows);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/paths/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX ((size_t)4 << 30)
#define IMAGES_MAX (1u << 18)

static const struct db_event paths_event = {DB_PATHS_EVENT, 1, 0};

int path_tally_init(struct path_tally *t)
{
	t->memory = arena_new(MEMORY_MAX);
	t->image_keys = intern_new(IMAGES_MAX);
	return t->memory && t->image_keys ? 0 : -ENOMEM;
}

void path_tally_free(struct path_tally *t)
{
	arena_free(t->memory);
	intern_free(t->image_keys);
	free(t->rows);
	free(t->functions);
	free(t->images);
}

static int find_image(struct path_tally *t, const struct db_path_item *item, uint32_t *ret)
{
	const struct db_bytes *path = &item->image_path;
	const char *kept;
	int r = intern_add(t->image_keys, item->image, sizeof(*item->image), ret);

	if (r || *ret < t->image_count)
		return r;
	kept = arena_strndup(t->memory, path->size ? path->data : "", path->size);
	if (!kept || array_grow(&t->images, t->image_count, &t->image_room, sizeof(*t->images), 16))
		return -ENOMEM;
	t->images[t->image_count++] = (struct path_image){*item->image, kept};
	return 0;
}

int path_tally_add(void *arg, const char *epoch, const struct db_path_item *item)
{
	struct path_tally *t = arg;
	struct db_path_item row = *item;
	const size_t bytes = item->block_count * sizeof(*item->blocks);
	uint64_t *blocks;
	uint32_t image;
	int r;

	(void)epoch;
	t->executions = num_add_sat(t->executions, item->count);
	if (t->row_count == PATH_TALLY_ROWS_MAX) {
		t->refused = num_add_sat(t->refused, item->count);
		return 0;
	}
	r = find_image(t, item, &image);
	if (r)
		return -ENOMEM;
	blocks = arena_alloc(t->memory, bytes);
	if (!blocks || array_grow(&t->rows, t->row_count, &t->row_room, sizeof(*t->rows), 1024))
		return -ENOMEM;
	memcpy(blocks, item->blocks, bytes);
	row.blocks = blocks;
	row.image = intern_get(t->image_keys, image, NULL);
	row.image_path = (struct db_bytes){0};
	row.event = &paths_event;
	t->rows[t->row_count++] = row;
	t->timed = num_add_sat(t->timed, item->timed);
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	return db_path_compare(a, b);
}

static int compare_executions(const void *x, const void *y)
{
	const struct db_path_item *a = x, *b = y;

	return NUM_ORDER(b->count, a->count) ?: db_path_compare(a, b);
}

static void merge_equal(struct path_tally *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->row_count; i++) {
		struct db_path_item *row = &t->rows[i], *last = count ? &t->rows[count - 1] : NULL;

		if (!last || db_path_compare(last, row)) {
			t->rows[count++] = *row;
			continue;
		}
		last->count = num_add_sat(last->count, row->count);
		last->timed = num_add_sat(last->timed, row->timed);
		last->time_ns = num_add_sat(last->time_ns, row->time_ns);
	}
	t->row_count = count;
}

static bool is_same_function(const struct db_path_item *a, const struct db_path_item *b)
{
	return a->function == b->function && a->image == b->image;
}

int path_tally_finish(struct path_tally *t)
{
	array_sort(t->rows, t->row_count, sizeof(*t->rows), compare_paths);
	merge_equal(t);
	for (size_t i = 0, end; i < t->row_count; i = end) {
		struct path_function f = {.entry = t->rows[i].function, .first = i};

		if (array_grow(&t->functions, t->function_count, &t->function_room,
			       sizeof(*t->functions), 64) ||
		    intern_find(t->image_keys, t->rows[i].image, sizeof(struct image_id), &f.image))
			return -ENOMEM;
		for (end = i; end < t->row_count && is_same_function(&t->rows[i], &t->rows[end]);
		     end++)
			f.executions = num_add_sat(f.executions, t->rows[end].count);
		f.count = end - i;
		array_sort(t->rows + i, f.count, sizeof(*t->rows), compare_executions);
		t->functions[t->function_count++] = f;
	}
	return 0;
}

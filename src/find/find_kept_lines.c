/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Source lines of functions in a database, and handed on from one database to another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/blob.h"
#include "find/finder.h"
#include "util/search.h"

#define ASKED_MAX 262144 /* functions of a file; then all that is known of them is dropped */

void image_kept_lines_init(struct image_kept_lines *k)
{
	*k = (struct image_kept_lines){0};
	buf_init(&k->packed, LINE_TABLE_MAX_BYTES);
}

void image_kept_lines_free(struct image_kept_lines *k)
{
	free(k->asked);
	buf_free(&k->packed);
}

bool finder_has_range(const struct image_range *list, size_t count, uint64_t address)
{
	size_t i = SEARCH_FIRST(count, n, list[n].end > address);

	return i < count && address >= list[i].start;
}

int finder_add_ranges(struct image_range **all, size_t *all_count, const struct image_range *list,
		      size_t count)
{
	size_t have = *all_count, at = have + count;
	struct image_range *both = reallocarray(*all, at + 1, sizeof(*both));

	if (!both)
		return -ENOMEM;
	*all = both;
	*all_count = at;
	while (count)
		both[--at] = have && both[have - 1].start > list[count - 1].start ? both[--have]
										  : list[--count];
	return 0;
}

/* Leaves those that the table does not know. */
static size_t drop_known(const struct image_line_table *t, struct image_range *list, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (image_line_table_find(t, list[i].start) == SIZE_MAX)
			list[left++] = list[i];
	return left;
}

/* So many functions at once as surely have room in one answer. */
#define LINES_AT_ONCE 4096
/* To open libc's debug file takes a quarter of what all of its lines take: who was at it so often
 * takes them all, if they are not too many. */
#define READINGS_MAX 2

/* Adds what the files tell of the functions. -EFBIG: it is too much. */
static int read_lines(struct image_finder *f, struct found_image *im,
		      const struct image_range *list, size_t count, struct image_line_table *t)
{
	int full = 0;

	for (size_t i = 0, n; i < count; i += n) {
		struct image_line_table fresh, both;

		n = count - i < LINES_AT_ONCE ? count - i : LINES_AT_ONCE;
		int r = finder_read_line_table(f, im, list + i, n, &fresh, NULL);
		if (r < 0 && r != -EFBIG) {
			/* There are none, or the file is such that the worker would fail again. */
			im->without_lines = true;
			return full;
		}
		if (!r) {
			r = image_line_table_merge(t, &fresh, &both);
			image_line_table_free(&fresh);
		}
		if (!r) {
			image_line_table_free(t);
			*t = both;
		} else if (r != -EFBIG) {
			return r;
		}
		full = r ? r : full;
	}
	return full;
}

/* Adds a table to another, and frees it. */
static int add_table(struct image_line_table *to, struct image_line_table *from)
{
	struct image_line_table both;
	int r = 0;

	if (from->range_count && to->range_count) {
		r = image_line_table_merge(to, from, &both);
	} else if (from->range_count) {
		both = *from;
		*from = (struct image_line_table){0};
	} else {
		return 0;
	}
	if (!r) {
		image_line_table_free(to);
		*to = both;
	}
	image_line_table_free(from);
	return r;
}

static int pack(const struct image_line_table *t, struct buf *packed)
{
	struct buf plain;

	buf_init(&plain, LINE_TABLE_MAX_BYTES);
	image_line_table_save(t, &plain);
	packed->size = 0;
	int r = plain.error ? plain.error : db_blob_pack(plain.data, plain.size, packed);
	buf_free(&plain);
	return r;
}

static void unpack(const struct buf *packed, struct image_line_table *ret)
{
	void *data;
	size_t size;

	*ret = (struct image_line_table){0};
	if (!packed->size ||
	    db_blob_open(packed->data, packed->size, LINE_TABLE_MAX_BYTES, &data, &size) < 0)
		return;
	if (image_line_table_load(data, size, ret) < 0)
		*ret = (struct image_line_table){0};
	free(data);
}

static bool are_asked(const struct image_kept_lines *known, const struct image_range *list,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!finder_has_range(known->asked, known->asked_count, list[i].start))
			return false;
	return true;
}

/* Those that nobody asked for before. */
static size_t drop_asked(const struct image_kept_lines *known, struct image_range *list,
			 size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!finder_has_range(known->asked, known->asked_count, list[i].start))
			list[left++] = list[i];
	return left;
}

/* What the files tell of functions that nobody asked for before joins what is known, or takes its
 * place where both are too much. *t: then all that is known. */
static int join_known(const struct image_range *list, size_t count, struct image_kept_lines *known,
		      struct image_line_table *t)
{
	struct image_line_table old;

	unpack(&known->packed, &old);
	int r = add_table(t, &old);
	if (r == -EFBIG || known->asked_count + count > ASKED_MAX)
		known->asked_count = 0;
	if (!r || r == -EFBIG)
		r = finder_add_ranges(&known->asked, &known->asked_count, list, count);
	known->is_new = !r && pack(t, &known->packed) == 0;
	if (!known->is_new)
		known->packed.size = known->asked_count = 0;
	return r;
}

/* All functions of an image that nobody asked for before. 0: they are too many for one answer. */
static size_t list_rest(const struct image_symbols *symbols, const struct image_kept_lines *known,
			struct image_range list[LINES_AT_ONCE])
{
	size_t count = 0, all = image_symbols_count(symbols);

	for (size_t i = 0; i < all && all <= LINES_AT_ONCE; i++) {
		const struct image_function *fn = image_symbols_at(symbols, i);

		if (fn->size)
			list[count++] = (struct image_range){fn->start, fn->start + fn->size};
	}
	return drop_asked(known, list, count);
}

/* Lines of functions that were never sampled tell of a file's source: what not everybody may read
 * is not read for more than is wanted. */
static bool may_take_all(const struct found_image *im)
{
	return im->symbols && finder_is_for_all(&im->file.stat) &&
	       (!im->debug.path || finder_is_for_all(&im->debug.stat));
}

/* *ret: all that is known then. -EFBIG: what is wanted is too much alone. */
static int learn(struct image_finder *f, struct found_image *im, const struct image_range *list,
		 size_t count, struct image_kept_lines *known, struct image_line_table *ret)
{
	struct image_range *rest = NULL;
	size_t rest_count = 0;
	int full = 0;

	if (known->readings++ == READINGS_MAX && may_take_all(im))
		rest = malloc(LINES_AT_ONCE * sizeof(*rest));
	if (rest)
		rest_count = list_rest(im->symbols, known, rest);
	if (rest_count && !read_lines(f, im, rest, rest_count, ret) && !im->without_lines) {
		list = rest;
		count = rest_count;
	} else {
		/* All may be too much where some are not. */
		im->without_lines = false;
		full = read_lines(f, im, list, count, ret);
	}
	if (full == -EFBIG) /* maybe for a symbol that spans all of the file: nothing is learnt */
		known->packed.size = known->asked_count = 0;
	if (!full && !im->without_lines)
		full = join_known(list, count, known, ret);
	free(rest);
	return full;
}

/* Of functions that the database's table, in which is nothing of them, then has too. ret_is_known:
 * it has what was known, and no more. */
static int take_lines(struct image_finder *f, struct found_image *im, struct image_range *list,
		      size_t count, struct image_kept_lines *known, struct image_line_table *t,
		      bool *ret_is_known)
{
	struct image_line_table all = {0};
	size_t left = drop_asked(known, list, count);
	int full = 0, r;

	if (left)
		full = learn(f, im, list, left, known, &all);
	else
		unpack(&known->packed, &all);
	const size_t had = all.range_count;
	r = add_table(t, &all);
	*ret_is_known =
		!r && !full && !im->without_lines && known->packed.size && t->range_count == had;
	return r ? r : full;
}

/* Of functions that the database has nothing of. */
static int add_lines(struct image_finder *f, struct found_image *im, struct image_range *list,
		     size_t count, struct image_kept_lines *known, struct image_line_table *t)
{
	const size_t had = t->range_count;
	bool is_known = false;
	int r = known ? take_lines(f, im, list, count, known, t, &is_known)
		      : read_lines(f, im, list, count, t),
	    saved;

	if (t->range_count == had && !is_known)
		return r;
	if (is_known)
		saved = finder_place_lines(f, &im->id, &known->packed);
	else
		saved = finder_save_lines(f, &im->id, "lines", t);
	return saved ? saved : r;
}

int finder_keep_lines(struct image_finder *f, struct found_image *im, struct image_range *list,
		      size_t count, struct image_kept_lines *known)
{
	struct image_line_table t;
	int r = 0;

	/* As in each recording that goes on in a database. */
	if (known && are_asked(known, list, count) && finder_has_lines(f, &im->id, &known->packed))
		return 0;
	bool first = finder_load_lines(f, &im->id, "lines", true, &t) < 0;
	if (first)
		t = (struct image_line_table){0};
	count = drop_known(&t, list, count);
	if (first && known)
		count = drop_asked(known, list, count);
	if (count || !first || !known)
		r = add_lines(f, im, list, count, known, &t);
	else if (known->packed.size)
		r = finder_place_lines(f, &im->id, &known->packed);
	image_line_table_free(&t);
	f->counts.lines_refused += r == -EFBIG;
	return r == -EFBIG ? 0 : r;
}

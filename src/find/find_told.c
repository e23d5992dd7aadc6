/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "find/finder.h"
#include "util/array.h"
#include "util/num.h"

/* Names and lines that an imported profile told of images whose files may never be at hand. */

#define TOLD_LINES "told"

static int compare_symbols(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;

	return NUM_ORDER(x->start, y->start) ?: strcmp(x->name, y->name);
}

/* What is known of a function is a part of it: parts beside each other are one. */
static size_t join_parts(struct image_symbol *list, size_t count)
{
	size_t kept = 0;

	array_sort(list, count, sizeof(*list), compare_symbols);
	for (size_t i = 0; i < count; i++) {
		struct image_symbol *last = kept ? &list[kept - 1] : NULL;
		uint64_t end = list[i].start + list[i].size;

		if (!last || strcmp(last->name, list[i].name) != 0)
			list[kept++] = list[i];
		else if (end > last->start + last->size)
			last->size = end - last->start;
	}
	return kept;
}

static int save_told(struct image_finder *f, const struct image_id *id,
		     const struct image_symbols *earlier, const struct image_symbol *list,
		     size_t count)
{
	struct image_symbols *symbols = NULL;
	size_t have = earlier ? image_symbols_count(earlier) : 0, all = 0;
	struct image_symbol *both = reallocarray(NULL, have + count + 1, sizeof(*both));
	struct buf b;

	if (!both)
		return -ENOMEM;
	for (; all < have; all++) {
		const struct image_function *fn = image_symbols_at(earlier, all);

		both[all] = (struct image_symbol){fn->start, fn->size, fn->name};
	}
	if (count)
		memcpy(both + have, list, count * sizeof(*both));
	all = join_parts(both, have + count);
	int r = image_symbols_build(both, all, FINDER_TOLD, &symbols);
	free(both);
	if (r < 0)
		return r;
	buf_init(&b, FINDER_SYMBOLS_BYTES);
	image_symbols_save(symbols, &b);
	r = finder_save_blob(f, id, "symbols", &b);
	buf_free(&b);
	image_symbols_free(symbols);
	return r;
}

int image_finder_tell_symbols(struct image_finder *f, const struct image_id *id,
			      const struct image_symbol *list, size_t count, struct diag *diag)
{
	struct image_symbols *earlier = NULL;
	int r = 0;

	f->keeps = true;
	if (finder_load_symbols(f, id, &earlier) < 0)
		earlier = NULL;
	if (!earlier || finder_is_told(earlier))
		r = save_told(f, id, earlier, list, count);
	image_symbols_free(earlier);
	return r < 0 ? diag_fail(diag, -r, "cannot keep names: %s", strerror(-r)) : 0;
}

int image_finder_tell_lines(struct image_finder *f, const struct image_id *id,
			    const uint64_t *addresses, size_t count, struct image_lines *lines,
			    struct diag *diag)
{
	struct image_line_table earlier = {0}, told, both = {0};

	f->keeps = true;
	int r = image_line_table_of(addresses, count, lines, &told);
	if (r < 0) {
		image_lines_free(lines);
		return diag_fail(diag, ENOMEM, "cannot keep lines: out of memory");
	}
	if (finder_load_lines(f, id, TOLD_LINES, false, &earlier) < 0)
		earlier = (struct image_line_table){0};
	r = image_line_table_merge(&told, &earlier, &both);
	if (!r)
		r = finder_save_lines(f, id, TOLD_LINES, &both);
	image_line_table_free(&told);
	image_line_table_free(&earlier);
	image_line_table_free(&both);
	return r < 0 ? diag_fail(diag, -r, "cannot keep lines: %s", strerror(-r)) : 0;
}

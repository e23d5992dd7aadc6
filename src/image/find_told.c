/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/finder.h"
#include "image/lines_new.h"
#include "image/script.h"
#include "util/search.h"

/* Names and lines that an imported profile told of images whose files may never be at hand. */

#define TOLD	       "import"
#define LINES_KIND     "lines"
#define TOLD_LINES_MAX (256u << 20)

bool finder_is_told(const struct image_symbols *s)
{
	return strcmp(image_symbols_source(s), TOLD) == 0;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* What is known of a function is a part of it: parts beside each other are one. */
static size_t join_parts(struct image_symbol *list, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(list, count, sizeof(*list), compare_symbols);
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
	int err = image_symbols_build(both, all, TOLD, &symbols);
	free(both);
	if (err < 0)
		return err;
	buf_init(&b, FINDER_SYMBOLS_BYTES);
	image_symbols_save(symbols, &b);
	err = finder_save_blob(f, id, "symbols", &b);
	buf_free(&b);
	image_symbols_free(symbols);
	return err;
}

int image_finder_tell_symbols(struct image_finder *f, const struct image_id *id,
			      const struct image_symbol *list, size_t count, struct diag *diag)
{
	struct image_symbols *earlier = NULL;
	int err = 0;
	f->keeps = true;
	if (finder_load_symbols(f, id, &earlier) < 0)
		earlier = NULL;
	if (!earlier || finder_is_told(earlier))
		err = save_told(f, id, earlier, list, count);
	image_symbols_free(earlier);
	return err < 0 ? diag_fail(diag, -err, "cannot keep names: %s", strerror(-err)) : 0;
}

/* Lines as they are kept: the number of addresses, the gaps between them, and what the worker would
 * send of them. */
struct told_lines {
	uint64_t *addresses;
	size_t count;
	struct image_lines *lines;
};

static void told_free(struct told_lines *t)
{
	free(t->addresses);
	image_lines_free(t->lines);
	*t = (struct told_lines){0};
}

static int told_load(struct image_finder *f, const struct image_id *id, struct told_lines *ret)
{
	struct told_lines t = {0};
	uint64_t address = 0;
	void *data;
	size_t size;
	int err = finder_load_blob(f, id, LINES_KIND, TOLD_LINES_MAX, &data, &size);
	if (err < 0)
		return err;
	struct cursor c = cursor_over(data, size);
	uint64_t count = cursor_varint(&c);
	if (count <= cursor_left(&c)) {
		t.count = count;
		t.addresses = calloc(t.count + 1, sizeof(*t.addresses));
	}
	for (size_t i = 0; i < t.count && t.addresses; i++)
		t.addresses[i] = address += cursor_varint(&c);
	err = t.addresses && !c.error ? image_lines_load(c.at, cursor_left(&c), &t.lines, NULL)
				      : -EBADMSG;
	free(data);
	if (err < 0) {
		f->counts.damaged++;
		told_free(&t);
		return err;
	}
	*ret = t;
	return 0;
}

static int told_save(struct image_finder *f, const struct image_id *id, const struct told_lines *t)
{
	uint64_t last = 0;
	struct buf b;
	buf_init(&b, TOLD_LINES_MAX);
	buf_append_varint(&b, t->count);
	for (size_t i = 0; i < t->count; i++) {
		buf_append_varint(&b, t->addresses[i] - last);
		last = t->addresses[i];
	}
	image_lines_save(t->lines, &b);
	int err = finder_save_blob(f, id, LINES_KIND, &b);
	buf_free(&b);
	return err;
}

static int copy_frames(struct image_lines *to, size_t i, const struct image_lines *from, size_t k)
{
	struct lines_frame frames[LINES_FRAMES_MAX];
	const struct image_frame *known = NULL;
	size_t count = image_lines_frames(from, k, &known);
	if (count > LINES_FRAMES_MAX)
		count = LINES_FRAMES_MAX;
	for (size_t n = 0; n < count; n++)
		frames[n] = (struct lines_frame){
			.function = image_lines_string(to, known[n].function),
			.file = image_lines_string(to, known[n].file),
			.linkage = image_lines_string(to, known[n].linkage),
			.line = known[n].line,
			.start_line = known[n].start_line,
			.discriminator = known[n].discriminator,
		};
	return image_lines_set(to, i, frames, count);
}

/* Both, by rising address; of one that both have, what a tells. */
static int merge(const struct told_lines *a, const struct told_lines *b, struct told_lines *ret)
{
	struct told_lines t = {.addresses = calloc(a->count + b->count + 1, sizeof(uint64_t))};
	int err = t.addresses ? image_lines_new(a->count + b->count, &t.lines) : -ENOMEM;
	for (size_t i = 0, k = 0; !err && (i < a->count || k < b->count); t.count++) {
		bool first = k == b->count || (i < a->count && a->addresses[i] <= b->addresses[k]);
		uint64_t address = first ? a->addresses[i] : b->addresses[k];
		t.addresses[t.count] = address;
		err = first ? copy_frames(t.lines, t.count, a->lines, i)
			    : copy_frames(t.lines, t.count, b->lines, k);
		i += first;
		k += k < b->count && b->addresses[k] == address;
	}
	if (err < 0) {
		told_free(&t);
		return err;
	}
	*ret = t;
	return 0;
}

int image_finder_tell_lines(struct image_finder *f, const struct image_id *id,
			    const uint64_t *addresses, size_t count,
			    const struct image_lines *lines, struct diag *diag)
{
	struct told_lines earlier = {0}, both = {0};
	struct told_lines told = {(uint64_t *)addresses, count, (struct image_lines *)lines};
	f->keeps = true;
	if (told_load(f, id, &earlier) < 0)
		earlier = (struct told_lines){0};
	int err = merge(&told, &earlier, &both);
	told_free(&earlier);
	if (!err)
		err = told_save(f, id, &both);
	told_free(&both);
	return err < 0 ? diag_fail(diag, -err, "cannot keep lines: %s", strerror(-err)) : 0;
}

static size_t find_address(const struct told_lines *t, uint64_t address)
{
	size_t low = SEARCH_FIRST(t->count, i, t->addresses[i] >= address);

	return low < t->count && t->addresses[low] == address ? low : SIZE_MAX;
}

static int lines_told(struct image_finder *f, const struct image_id *id, const uint64_t *addresses,
		      size_t count, struct image_lines **ret)
{
	struct told_lines told;
	struct image_lines *l = NULL;
	int err = told_load(f, id, &told);
	if (err < 0)
		return err;
	err = image_lines_new(count, &l);
	for (size_t i = 0; i < count && !err; i++) {
		size_t at = find_address(&told, addresses[i]);
		if (at != SIZE_MAX)
			err = copy_frames(l, i, told.lines, at);
	}
	told_free(&told);
	if (!err)
		err = image_lines_finish(l);
	if (err < 0) {
		image_lines_free(l);
		return err;
	}
	*ret = l;
	return 0;
}

static int lines_from_files(struct image_finder *f, struct found_image *im,
			    const uint64_t *addresses, size_t count, struct image_lines **ret,
			    struct diag *diag)
{
	int fd = finder_open_file(f, im, diag);
	int debug_fd = finder_open_debug(f, im, fd, NULL);
	int err = fd;
	if (fd >= 0 || debug_fd >= 0)
		err = image_worker_lines(f->worker, fd >= 0 ? fd : debug_fd,
					 fd >= 0 ? debug_fd : -1, addresses, count, ret, diag);
	if (fd >= 0)
		close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

int image_find_lines(struct image_finder *f, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag)
{
	const struct image_symbols *symbols;
	struct found_image *im;
	int err = finder_image(f, id, path, &im, diag);
	if (err < 0)
		return err;
	if (id->kind == IMAGE_SCRIPT) {
		err = image_find_symbols(f, id, path, &symbols, NULL);
		return image_script_lines(path, err ? NULL : symbols, addresses, count, ret);
	}
	struct diag why = {""};
	err = lines_from_files(f, im, addresses, count, ret, &why);
	if (err == 0)
		return 0;
	int told_err = err == -ENOMEM ? err : lines_told(f, id, addresses, count, ret);
	return told_err == 0 ? 0 : finder_fail(diag, err, &why, told_err, "lines are");
}

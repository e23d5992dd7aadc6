/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/finder.h"
#include "util/num.h"
#include "util/search.h"

/* The collector must stay small: a report will load them again. */
static void drop_symbols(struct found_image *im)
{
	image_symbols_free(im->symbols);
	im->symbols = NULL;
	im->symbols_tried = false;
}

static int keep_symbols(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	const struct image_symbols *s;
	uint64_t failed = f->counts.keep_failed;
	if (im->symbols_tried || finder_has_symbols(f, &im->id))
		return im->symbols_error;
	int err = image_find_symbols(f, &im->id, im->path, &s, diag);
	drop_symbols(im);
	if (!err && f->counts.keep_failed > failed)
		return diag_fail(diag, EIO, "%s: its symbols are not kept: %s", im->path,
				 f->keep_why.text);
	return err;
}

static bool has_file(const struct image_id *id)
{
	return id->kind == IMAGE_BUILD_ID || id->kind == IMAGE_CONTENT || id->kind == IMAGE_VDSO;
}

/* Whether who reads the database could read the file too, or it is our own. */
static bool is_for_all(const struct stat *st)
{
	return st->st_mode & S_IROTH || st->st_uid == geteuid();
}

/* All of a file's code and constants if it is not large, else what can be said of it without its
 * bytes: functions that are wanted come later. So it is with a file that not everybody may read:
 * its constants may be a secret. */
static int keep_code(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	struct image_layout *l;
	bool whole;
	if (!has_file(&im->id))
		return 0;
	int err = finder_peek_code(f, &im->id, true, &im->machine, &im->bits, &whole);
	if (!err) {
		im->in_pieces = !whole;
		return 0;
	}
	int fd = finder_open_file(f, im, NULL);
	if (fd < 0)
		return 0;
	/* What makes no sense is no loss: no report could do anything with it. */
	uint64_t most = is_for_all(&im->file.stat) ? IMAGE_LAYOUT_KEPT_MAX_BYTES : 0;
	err = image_worker_layout(f->worker, fd, most, &l, NULL);
	close(fd);
	if (err < 0)
		return 0;
	im->in_pieces = !l->whole;
	err = finder_save_code(f, &im->id, l);
	image_layout_free(l);
	f->counts.code_refused += err == -ENOSPC;
	return err < 0 && err != -ENOSPC ? diag_fail(diag, EIO, "%s: its code is not kept: %s",
						     im->path, f->keep_why.text)
					 : 0;
}

/* Of no functions: whether there is debug information at all. */
static bool has_lines(struct image_finder *f, struct found_image *im)
{
	struct image_line_table none;
	if (!has_file(&im->id) || finder_read_line_table(f, im, NULL, 0, &none) < 0)
		return false;
	image_line_table_free(&none);
	return true;
}

int image_finder_keep(struct image_finder *f, const struct image_id *id, const char *path,
		      struct diag *diag)
{
	struct found_image *im;
	f->keeps = true;
	if (!f->db_path || !f->machine)
		return 0;
	int err = finder_image(f, id, path, &im, diag);
	if (err < 0 || im->kept)
		return err;
	if (im->keep_error)
		return diag_fail(diag, -im->keep_error, "%s", im->symbols_why.text);
	err = keep_symbols(f, im, &im->symbols_why);
	int code_err = keep_code(f, im, err ? NULL : &im->symbols_why);
	err = err ? err : code_err;
	im->without_lines = !has_lines(f, im);
	im->kept = err == 0;
	/* There may be room again. */
	im->keep_error = err == -EIO ? 0 : err;
	return err ? diag_fail(diag, -err, "%s", im->symbols_why.text) : 0;
}

#define RUN_BYTES   65536
#define PADDING_MAX 64 /* between functions */

/* A list of functions by address: the number of those that are one run with the first, which asks
 * for less than to read each alone. */
static size_t run_length(const struct image_range *list, size_t count)
{
	size_t n = 1;
	while (n < count && list[n].start - list[n - 1].end <= PADDING_MAX &&
	       list[n].end - list[0].start <= RUN_BYTES)
		n++;
	return n;
}

static bool has_code(const struct image_layout *l, const struct image_range *range)
{
	size_t size;
	return image_layout_code(l, range->start, &size) && size >= range->end - range->start;
}

/* Adds the code of functions; -ENOSPC: some has no room. */
static int read_pieces(struct image_finder *f, int fd, struct image_layout *l,
		       const struct image_range *list, size_t count)
{
	int full = 0;
	for (size_t i = 0, n; i < count; i += n) {
		uint8_t *code;
		size_t size;
		n = has_code(l, &list[i]) ? 1 : run_length(list + i, count - i);
		if (has_code(l, &list[i]) ||
		    image_worker_code(f->worker, fd, list[i].start,
				      list[i + n - 1].end - list[i].start, &code, &size, NULL) < 0)
			continue;
		int err = image_layout_add(l, list[i].start, code, size);
		free(code);
		if (err == -ENOMEM)
			return err;
		full = err ? err : full;
	}
	return full;
}

/* The code of functions of an image that is kept in pieces. */
static int keep_pieces(struct image_finder *f, struct found_image *im,
		       const struct image_range *list, size_t count)
{
	struct image_layout *l;
	int err = finder_load_code(f, &im->id, true, &l);
	if (err < 0)
		return err;
	const uint64_t bytes = l->part_bytes;
	int fd = finder_open_file(f, im, NULL);
	err = fd < 0 ? fd : read_pieces(f, fd, l, list, count);
	if (fd >= 0)
		close(fd);
	if (l->part_bytes != bytes) {
		int saved = finder_save_code(f, &im->id, l);
		err = saved ? saved : err;
	}
	f->counts.code_refused += err == -ENOSPC;
	image_layout_free(l);
	return err;
}

/* Whether the function there was. */
static bool was_asked(const struct found_image *im, uint64_t address)
{
	size_t i = SEARCH_FIRST(im->asked_count, n, im->asked[n].end > address);
	return i < im->asked_count && address >= im->asked[i].start;
}

/* The functions of the addresses that were not wanted before, rising. */
static int new_functions(const struct found_image *im, const struct image_symbols *symbols,
			 const uint64_t *addresses, size_t count, struct image_range **ret,
			 size_t *ret_count)
{
	struct image_range *list = calloc(count + 1, sizeof(*list));
	uint64_t *sorted = calloc(count + 1, sizeof(*sorted)), end = 0;
	size_t n = 0;
	if (!list || !sorted) {
		free(list);
		free(sorted);
		return -ENOMEM;
	}
	memcpy(sorted, addresses, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), num_compare_u64);
	for (size_t i = 0; i < count; i++) {
		const struct image_function *fn = sorted[i] < end || was_asked(im, sorted[i])
							  ? NULL
							  : image_symbols_find(symbols, sorted[i]);
		if (!fn)
			continue;
		end = fn->start + fn->size;
		list[n++] = (struct image_range){fn->start, end};
	}
	free(sorted);
	*ret = list;
	*ret_count = n;
	return 0;
}

/* Both lists rise; they share nothing. */
static int note_asked(struct found_image *im, const struct image_range *list, size_t count)
{
	size_t have = im->asked_count, at = have + count;
	struct image_range *all = reallocarray(im->asked, at + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	im->asked = all;
	im->asked_count = at;
	while (count)
		all[--at] = have && all[have - 1].start > list[count - 1].start ? all[--have]
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

/* Adds what the files tell of the functions. -EFBIG: it is too much. */
static int read_lines(struct image_finder *f, struct found_image *im,
		      const struct image_range *list, size_t count, struct image_line_table *t)
{
	int full = 0;
	for (size_t i = 0, n; i < count; i += n) {
		struct image_line_table fresh, both;
		n = count - i < LINES_AT_ONCE ? count - i : LINES_AT_ONCE;
		int err = finder_read_line_table(f, im, list + i, n, &fresh);
		if (err < 0 && err != -EFBIG) {
			/* There are none, or the file is such that the worker would fail again. */
			im->without_lines = true;
			return full;
		}
		if (!err) {
			err = image_line_table_merge(t, &fresh, &both);
			image_line_table_free(&fresh);
		}
		if (!err) {
			image_line_table_free(t);
			*t = both;
		} else if (err != -EFBIG) {
			return err;
		}
		full = err ? err : full;
	}
	return full;
}

static int keep_lines(struct image_finder *f, struct found_image *im, struct image_range *list,
		      size_t count)
{
	struct image_line_table t;
	if (finder_load_lines(f, &im->id, "lines", true, &t) < 0)
		t = (struct image_line_table){0};
	const size_t had = t.range_count;
	int err = read_lines(f, im, list, drop_known(&t, list, count), &t);
	if (t.range_count > had) {
		int saved = finder_save_lines(f, &im->id, "lines", &t);
		err = saved ? saved : err;
	}
	image_line_table_free(&t);
	f->counts.lines_refused += err == -EFBIG;
	return err == -EFBIG ? 0 : err;
}

static int keep_functions(struct image_finder *f, struct found_image *im, const uint64_t *addresses,
			  size_t count, struct diag *diag)
{
	const struct image_symbols *symbols;
	struct image_range *list = NULL;
	size_t n = 0;
	bool loaded = im->symbols != NULL;
	uint64_t failed = f->counts.keep_failed;
	int err = image_find_symbols(f, &im->id, im->path, &symbols, diag);
	if (err < 0)
		return err;
	err = new_functions(im, symbols, addresses, count, &list, &n);
	if (!loaded)
		drop_symbols(im);
	if (!err && n)
		err = note_asked(im, list, n);
	if (!err && n && im->in_pieces)
		err = keep_pieces(f, im, list, n);
	if ((!err || err == -ENOSPC) && n && !im->without_lines)
		err = keep_lines(f, im, list, n);
	/* It could not be written: there may be room when it is asked for again. */
	if (f->counts.keep_failed > failed)
		im->asked_count = 0;
	free(list);
	return err;
}

bool image_finder_wants_functions(struct image_finder *f, const struct image_id *id,
				  const char *path)
{
	struct found_image *im;
	return finder_image(f, id, path, &im, NULL) == 0 && (im->in_pieces || !im->without_lines);
}

int image_finder_keep_functions(struct image_finder *f, const struct image_id *id, const char *path,
				const uint64_t *addresses, size_t count, struct diag *diag)
{
	struct found_image *im;
	size_t known = 0;
	f->keeps = true;
	if (!f->db_path || !f->machine || !has_file(id))
		return 0;
	/* Another finder may have kept it: then this one learns what is kept. */
	image_finder_keep(f, id, path, NULL);
	int err = finder_image(f, id, path, &im, diag);
	if (err < 0)
		return err;
	while (known < count && was_asked(im, addresses[known]))
		known++;
	if (known == count || (!im->in_pieces && im->without_lines))
		return 0;
	err = keep_functions(f, im, addresses, count, diag);
	return err < 0 ? diag_fail(diag, -err, "%s: its functions are not kept: %s", im->path,
				   *f->keep_why.text ? f->keep_why.text : strerror(-err))
		       : 0;
}

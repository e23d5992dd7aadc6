/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/finder.h"

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
	im->kept = err == 0;
	/* There may be room again. */
	im->keep_error = err == -EIO ? 0 : err;
	return err ? diag_fail(diag, -err, "%s", im->symbols_why.text) : 0;
}

static int compare_addresses(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

#define RUN_BYTES   65536
#define PADDING_MAX 64 /* between functions */

/* The end of the run of functions that begins with the one at sorted[0]. */
static uint64_t run_end(const struct image_symbols *symbols, const uint64_t *sorted, size_t count)
{
	const struct image_function *first = image_symbols_find(symbols, sorted[0]);
	uint64_t end = first->start + first->size;
	for (size_t i = 1; i < count; i++) {
		const struct image_function *fn = image_symbols_find(symbols, sorted[i]);
		if (!fn || fn->start + fn->size <= end)
			continue;
		if (fn->start > end + PADDING_MAX ||
		    fn->start + fn->size - first->start > RUN_BYTES)
			break;
		end = fn->start + fn->size;
	}
	return end;
}

/* A function of the image, and those wanted next that adjoin it: asking for each alone takes longer
 * than to read it. -ENOSPC: the rest may still fit. */
static int keep_run(struct image_finder *f, struct found_image *im,
		    const struct image_symbols *symbols, const uint64_t *sorted, size_t count,
		    struct diag *diag)
{
	const struct image_function *fn = image_symbols_find(symbols, sorted[0]);
	uint8_t *code;
	size_t size;
	const struct code_piece *have = code_cache_find(&im->code, fn->start);
	if (have && have->start + have->size >= fn->start + fn->size)
		return 0;
	int fd = finder_open_file(f, im, diag);
	if (fd < 0)
		return fd;
	int err =
		image_worker_code(f->worker, fd, fn->start,
				  run_end(symbols, sorted, count) - fn->start, &code, &size, diag);
	close(fd);
	if (err < 0)
		return err;
	err = code_cache_add(&im->code, fn->start, code, size);
	if (!err)
		im->code_changed = true;
	free(code);
	return err;
}

static int keep_functions(struct image_finder *f, struct found_image *im,
			  const struct image_symbols *symbols, const uint64_t *sorted, size_t count,
			  struct diag *diag)
{
	const struct image_function *last = NULL;
	int full = 0;
	for (size_t i = 0; i < count; i++) {
		const struct image_function *fn = image_symbols_find(symbols, sorted[i]);
		if (!fn || fn == last)
			continue;
		last = fn;
		int err = keep_run(f, im, symbols, sorted + i, count - i, diag);
		if (err == -ENOSPC)
			full = err;
		else if (err < 0)
			return err;
	}
	return full;
}

int image_finder_keep_code(struct image_finder *f, const struct image_id *id, const char *path,
			   const uint64_t *addresses, size_t count, struct diag *diag)
{
	const struct image_symbols *symbols;
	struct found_image *im;
	f->keeps = true;
	if (!f->db_path || !f->machine || count == 0)
		return 0;
	int err = finder_image(f, id, path, &im, diag);
	if (err < 0)
		return err;
	bool loaded = im->symbols != NULL;
	err = image_find_symbols(f, id, path, &symbols, diag);
	if (err < 0)
		return err;
	uint64_t *sorted = reallocarray(NULL, count, sizeof(*sorted));
	if (!sorted)
		return diag_fail(diag, ENOMEM, "out of memory for code");
	memcpy(sorted, addresses, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_addresses);
	finder_load_code(f, im, true);
	err = keep_functions(f, im, symbols, sorted, count, diag);
	free(sorted);
	int saved = finder_save_code(f, im);
	if (!loaded)
		drop_symbols(im);
	code_cache_free(&im->code);
	im->code_tried = false;
	if (err == -ENOSPC)
		return diag_fail(diag, ENOSPC, "%s: more code than is kept of one image", im->path);
	return err ? err : saved;
}

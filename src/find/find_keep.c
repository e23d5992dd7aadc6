/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/blob.h"
#include "find/finder.h"
#include "util/array.h"
#include "util/io.h"
#include "util/num.h"

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
	uint64_t failed = f->counts.keep_failed, kept = f->counts.symbols_kept;
	struct image_kept *copies = f->kept;
	char saved[FINDER_KIND_MAX];
	int r = image_find_symbols(f, &im->id, im->path, &s, diag);

	f->counts.symbols_refused += r == -EFBIG;
	f->counts.names_refused += r ? 0 : image_symbols_names_refused(s);
	/* Another machine of the database may have them alone: those go with its epochs. They are
	 * what some database had, so no copy of them is for others. */
	f->kept = NULL;
	if (!r && f->counts.symbols_kept == kept && f->counts.keep_failed == failed &&
	    !db_blob_is_there(&(struct db_blobs){f->db_path, f->machine, &io_system}, &im->id,
			      finder_saved_kind(f, &im->id, "symbols", saved)))
		finder_save_symbols(f, &im->id, s);
	f->kept = copies;
	if (!r && f->counts.keep_failed > failed)
		return diag_fail(diag, EIO, "%s: its symbols are not kept: %s", im->path,
				 f->keep_why.text);
	return r;
}

/* All of a file's code and constants if it is not large, else what can be said of it without its
 * bytes: functions that are wanted come later. So it is with a file that not everybody may read:
 * its constants may be a secret. */
static int keep_code(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	struct image_layout *l;
	bool whole;

	if (!finder_has_file(&im->id))
		return 0;
	int r = finder_peek_code(f, &im->id, true, &im->machine, &im->bits, &whole);
	if (!r) {
		im->in_pieces = !whole;
		return 0;
	}
	int fd = finder_open_file(f, im, NULL);
	if (fd < 0)
		return 0;
	/* What makes no sense is no loss: no report could do anything with it. */
	uint64_t most = finder_is_for_all(&im->file.stat) ? IMAGE_LAYOUT_KEPT_MAX_BYTES : 0;
	r = image_worker_layout(f->worker, fd, most, &l, NULL);
	close(fd);
	if (r < 0)
		return 0;
	im->in_pieces = !l->whole;
	r = finder_save_code(f, &im->id, l);
	image_layout_free(l);
	f->counts.code_refused += r == -ENOSPC;
	return r < 0 && r != -ENOSPC ? diag_fail(diag, EIO, "%s: its code is not kept: %s",
						 im->path, f->keep_why.text)
				     : 0;
}

/* Of no functions: whether there is debug information at all. */
static bool has_lines(struct image_finder *f, struct found_image *im)
{
	struct image_line_table none;

	if (!finder_has_file(&im->id) || finder_read_line_table(f, im, NULL, 0, &none, NULL) < 0)
		return false;
	image_line_table_free(&none);
	return true;
}

/* Leaves the symbols in memory. */
static int keep_image(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	if (im->kept)
		return 0;
	if (im->keep_error)
		return diag_fail(diag, -im->keep_error, "%s", im->symbols_why.text);
	finder_meet_file(f, im);
	int r = keep_symbols(f, im, &im->symbols_why);
	int code_err = keep_code(f, im, r ? NULL : &im->symbols_why);
	r = r ? r : code_err;
	im->without_lines = !has_lines(f, im);
	im->kept = r == 0;
	/* There may be room again. */
	im->keep_error = r == -EIO ? 0 : r;
	return r ? diag_fail(diag, -r, "%s", im->symbols_why.text) : 0;
}

int image_finder_keep(struct image_finder *f, const struct image_id *id, const char *path,
		      struct diag *diag)
{
	struct found_image *im;

	f->keeps = true;
	if (!f->db_path || !f->machine)
		return 0;
	int r = finder_image(f, id, path, &im, diag);
	if (r < 0)
		return r;
	const bool had = im->symbols_tried;
	r = keep_image(f, im, diag);
	if (!had)
		drop_symbols(im);
	return r;
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

/* A copy of the code at a range, as far as one segment of the file has it; how much, 0: none. */
static ssize_t copy_code(int fd, const struct image_facts *facts, uint64_t start, uint64_t size,
			 uint8_t **ret)
{
	uint32_t i = 0;

	while (i < facts->segment_count &&
	       start - facts->segments[i].address >= facts->segments[i].file_size)
		i++;
	if (i == facts->segment_count)
		return 0;
	uint64_t at = start - facts->segments[i].address;
	uint64_t left = facts->segments[i].file_size - at;
	size = size < left ? size : left;
	if (size > IMAGE_LAYOUT_KEPT_MAX_BYTES)
		return -ENOSPC;
	*ret = malloc(size);
	if (!*ret)
		return -ENOMEM;
	ssize_t n = io_pread(fd, *ret, size, facts->segments[i].file_offset + at);
	if (n <= 0)
		free(*ret);
	return n > 0 ? n : 0;
}

/* Adds the code of functions; -ENOSPC: some has no room. The worker says once where the file has
 * code: to ask it for each function takes longer than to read them. */
static int read_pieces(struct image_finder *f, int fd, struct image_layout *l,
		       const struct image_range *list, size_t count)
{
	struct image_facts facts;
	int full = 0;

	if (image_worker_facts(f->worker, fd, &facts, NULL) < 0)
		return 0;
	for (size_t i = 0, n; i < count; i += n) {
		uint8_t *code;

		n = has_code(l, &list[i]) ? 1 : run_length(list + i, count - i);
		if (has_code(l, &list[i]))
			continue;
		ssize_t r = copy_code(fd, &facts, list[i].start,
				      list[i + n - 1].end - list[i].start, &code);
		if (r > 0) {
			size_t size = (size_t)r;

			r = image_layout_add(l, list[i].start, code, size);
			free(code);
		}
		if (r == -ENOMEM)
			return (int)r;
		full = r ? (int)r : full;
	}
	return full;
}

/* The code of functions of an image that is kept in pieces. */
static int keep_pieces(struct image_finder *f, struct found_image *im,
		       const struct image_range *list, size_t count)
{
	struct image_layout *l;
	int r = finder_load_code(f, &im->id, true, &l);

	if (r < 0)
		return r;
	const uint64_t bytes = l->part_bytes;
	int fd = finder_open_file(f, im, NULL);
	r = fd < 0 ? fd : read_pieces(f, fd, l, list, count);
	if (fd >= 0)
		close(fd);
	if (l->part_bytes != bytes) {
		int saved = finder_save_code(f, &im->id, l);

		r = saved ? saved : r;
	}
	f->counts.code_refused += r == -ENOSPC;
	image_layout_free(l);
	return r;
}

/* Whether the function there was. */
static bool was_asked(const struct found_image *im, uint64_t address)
{
	return finder_has_range(im->asked, im->asked_count, address);
}

/* The functions, ascending, of the addresses that were not wanted before. */
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
	array_sort(sorted, count, sizeof(*sorted), num_compare_u64);
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

static int keep_functions(struct image_finder *f, struct found_image *im, const uint64_t *addresses,
			  size_t count, struct image_kept_lines *known, struct diag *diag)
{
	const struct image_symbols *symbols;
	struct image_range *list = NULL;
	size_t n = 0;
	uint64_t failed = f->counts.keep_failed;
	int r = image_find_symbols(f, &im->id, im->path, &symbols, diag);

	if (r < 0)
		return r;
	r = new_functions(im, symbols, addresses, count, &list, &n);
	if (!r && n)
		r = finder_add_ranges(&im->asked, &im->asked_count, list, n);
	if (!r && n && im->in_pieces)
		r = keep_pieces(f, im, list, n);
	if ((!r || r == -ENOSPC) && n && !im->without_lines)
		r = finder_keep_lines(f, im, list, n, known);
	/* It could not be written: there may be room when it is asked for again. */
	if (f->counts.keep_failed > failed)
		im->asked_count = 0;
	free(list);
	return r;
}

bool image_finder_wants_functions(struct image_finder *f, const struct image_id *id,
				  const char *path)
{
	struct found_image *im;

	return finder_image(f, id, path, &im, NULL) == 0 && (im->in_pieces || !im->without_lines);
}

static bool are_all_asked(const struct found_image *im, const uint64_t *addresses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!was_asked(im, addresses[i]))
			return false;
	return true;
}

bool image_finder_wants_lines(struct image_finder *f, const struct image_id *id, const char *path,
			      const uint64_t *addresses, size_t count)
{
	struct found_image *im;

	return finder_image(f, id, path, &im, NULL) == 0 && !im->without_lines &&
	       !are_all_asked(im, addresses, count);
}

int image_finder_keep_functions(struct image_finder *f, const struct image_id *id, const char *path,
				const uint64_t *addresses, size_t count,
				struct image_kept_lines *known, struct diag *diag)
{
	struct found_image *im;

	f->keeps = true;
	if (!f->db_path || !f->machine || !finder_has_file(id))
		return 0;
	int r = finder_image(f, id, path, &im, diag);
	if (r < 0)
		return r;
	const bool had = im->symbols_tried;
	/* Another finder may have kept it: then this one learns what is kept. */
	keep_image(f, im, NULL);
	if (!are_all_asked(im, addresses, count) && (im->in_pieces || !im->without_lines) &&
	    finder_has_met(f, im))
		r = keep_functions(f, im, addresses, count, known, diag);
	if (!had)
		drop_symbols(im);
	return r < 0 ? diag_fail(diag, -r, "%s: its functions are not kept: %s", im->path,
				 *f->keep_why.text ? f->keep_why.text : strerror(-r))
		     : 0;
}

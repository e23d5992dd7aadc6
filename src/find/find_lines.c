/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "find/finder.h"
#include "image/lines_new.h"
#include "image/script.h"

static uint64_t written_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* The files that may tell lines: the image (or its debug file in its place) and the debug file. */
static int open_files(struct image_finder *f, struct found_image *im, int ret_fds[2],
		      uint64_t *ret_built_ns, struct diag *diag)
{
	int fd = finder_open_file(f, im, diag);
	int debug_fd = finder_open_debug(f, im, fd, NULL);

	*ret_built_ns = fd >= 0 ? written_ns(&im->file.stat) : 0;
	ret_fds[0] = fd >= 0 ? fd : debug_fd;
	ret_fds[1] = fd >= 0 ? debug_fd : -1;
	return ret_fds[0] < 0 ? fd : 0;
}

static void close_files(const int fds[2])
{
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int finder_read_line_table(struct image_finder *f, struct found_image *im,
			   const struct image_range *ranges, size_t count,
			   struct image_line_table *ret, struct diag *diag)
{
	uint64_t built_ns;
	int fds[2], r = open_files(f, im, fds, &built_ns, diag);

	if (r < 0)
		return r;
	r = image_worker_line_table(f->worker, fds[0], fds[1], ranges, count, ret, diag);
	close_files(fds);
	if (!r)
		image_lines_set_built(ret->lines, built_ns);
	return r;
}

/* The answer while it is made: which addresses nobody has told of yet. */
struct asked {
	const uint64_t *addresses;
	size_t count;
	size_t *open; /* numbers of addresses */
	size_t open_count;
	struct image_lines *lines;
};

/* Takes what a table has of the addresses that are open. */
static int take_table(struct asked *a, const struct image_line_table *t)
{
	size_t left = 0;

	for (size_t i = 0; i < a->open_count; i++) {
		size_t n = a->open[i], run = image_line_table_find(t, a->addresses[n]);
		int r = run == SIZE_MAX ? 0 : image_lines_copy(a->lines, n, t->lines, run);

		if (r < 0)
			return r;
		if (run == SIZE_MAX)
			a->open[left++] = n;
	}
	a->open_count = left;
	if (!image_lines_built(a->lines))
		image_lines_set_built(a->lines, image_lines_built(t->lines));
	return 0;
}

static int take_kept(struct image_finder *f, struct found_image *im, const char *kind,
		     struct asked *a)
{
	struct image_line_table t;
	int r = finder_load_lines(f, &im->id, kind, false, &t);

	if (r < 0)
		return r;
	r = take_table(a, &t);
	image_line_table_free(&t);
	return r;
}

/* Those that the file knows; the others stay open. */
static int take_answer(struct asked *a, const struct image_lines *answer)
{
	const struct image_frame *frames;
	size_t left = 0;

	for (size_t i = 0; i < a->open_count; i++) {
		size_t n = a->open[i];
		bool known = image_lines_frames(answer, i, &frames) > 0;
		int r = known ? image_lines_copy(a->lines, n, answer, i) : 0;

		if (r < 0)
			return r;
		if (!known)
			a->open[left++] = n;
	}
	a->open_count = left;
	return 0;
}

static int take_files(struct image_finder *f, struct found_image *im, struct asked *a,
		      struct diag *diag)
{
	struct image_lines *answer = NULL;
	uint64_t built_ns;
	int fds[2], r = open_files(f, im, fds, &built_ns, diag);

	if (r < 0)
		return r;
	uint64_t *open = calloc(a->open_count + 1, sizeof(*open));
	for (size_t i = 0; open && i < a->open_count; i++)
		open[i] = a->addresses[a->open[i]];
	r = open ? image_worker_lines(f->worker, fds[0], fds[1], open, a->open_count, &answer, diag)
		 : -ENOMEM;
	if (!r)
		r = take_answer(a, answer);
	if (!r && !image_lines_built(a->lines))
		image_lines_set_built(a->lines, built_ns);
	image_lines_free(answer);
	free(open);
	close_files(fds);
	return r;
}

static int asked_begin(struct asked *a, const uint64_t *addresses, size_t count)
{
	*a = (struct asked){.addresses = addresses,
			    .count = count,
			    .open = calloc(count + 1, sizeof(*a->open)),
			    .open_count = count};
	for (size_t i = 0; a->open && i < count; i++)
		a->open[i] = i;
	return a->open ? image_lines_new(count, &a->lines) : -ENOMEM;
}

/* What was kept first, which is how it was when it was sampled; then the file; then what a profile
 * told. Fails as the file does where nobody can tell anything. */
static int ask_all(struct image_finder *f, struct found_image *im, struct asked *a,
		   struct diag *diag)
{
	struct diag why = {""};
	int kept = take_kept(f, im, "lines", a), r = kept, told = -ENOENT;

	if (r != -ENOMEM && a->open_count)
		r = take_files(f, im, a, &why);
	if (r != -ENOMEM && a->open_count)
		told = take_kept(f, im, "told", a);
	if (r == -ENOMEM || told == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory for line numbers");
	if (kept < 0 && r < 0 && told < 0)
		return finder_fail(diag, r, &why, kept == -ENOENT ? told : kept, "lines are");
	return 0;
}

int image_find_lines(struct image_finder *f, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag)
{
	const struct image_symbols *symbols;
	struct found_image *im;
	struct asked a;
	int r = finder_image(f, id, path, &im, diag);

	if (r < 0)
		return r;
	if (id->kind == IMAGE_SCRIPT) {
		r = image_find_symbols(f, id, path, &symbols, NULL);
		return image_script_lines(path, r ? NULL : symbols, addresses, count, ret);
	}
	r = asked_begin(&a, addresses, count);
	if (!r)
		r = ask_all(f, im, &a, diag);
	if (!r)
		r = image_lines_finish(a.lines);
	free(a.open);
	if (r < 0)
		image_lines_free(a.lines);
	else
		*ret = a.lines;
	return r;
}

int image_find_line_table(struct image_finder *f, const struct image_id *id, const char *path,
			  const struct image_range *ranges, size_t count,
			  struct image_line_table *ret, struct diag *diag)
{
	struct image_line_table t;
	struct found_image *im;
	int r = finder_image(f, id, path, &im, diag);

	if (!r)
		r = finder_read_line_table(f, im, ranges, count, &t, diag);
	if (r < 0)
		return r;
	r = image_lines_finish(t.lines);
	if (r < 0) {
		image_line_table_free(&t);
		return diag_fail(diag, -r, "out of memory for line numbers");
	}
	*ret = t;
	return 0;
}

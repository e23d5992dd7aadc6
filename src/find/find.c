/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "find/find.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "find/finder.h"

/* There may be more functions in it later on. */
static bool is_made_at_run_time(const struct image_id *id)
{
	return id->kind == IMAGE_JIT || id->kind == IMAGE_SCRIPT;
}

void image_finder_refresh(struct image_finder *f)
{
	for (size_t i = 0; i < f->image_count; i++) {
		struct found_image *im = f->images[i];
		struct image_symbols *newer;

		if (!im->symbols_tried || (!im->symbols_error && !is_made_at_run_time(&im->id)) ||
		    finder_load_symbols(f, &im->id, &newer) < 0)
			continue;
		image_symbols_free(im->symbols);
		im->symbols = newer;
		im->symbols_error = 0;
	}
}

/* Symbols from what a stripped file still has; a debug file would know more. */
static bool is_poor(const struct image_symbols *s)
{
	const char *source = image_symbols_source(s);

	return strcmp(source, "dynsym") == 0 || strcmp(source, "function starts") == 0 ||
	       strcmp(source, "mini debug info") == 0 || strcmp(source, "none") == 0;
}

static int symbols_from_files(struct image_finder *f, struct found_image *im, bool data,
			      struct image_symbols **ret, struct diag *diag)
{
	int (*const read)(struct image_worker * w, int fd, int debug_fd, size_t max_bytes,
			  struct image_symbols **ret, struct diag *diag) =
		data ? image_worker_data_symbols : image_worker_symbols;
	int fd = finder_open_file(f, im, diag);
	int debug_fd = finder_open_debug(f, im, fd, NULL);
	int r = fd;

	if (fd >= 0)
		r = read(f->worker, fd, debug_fd, FINDER_READ_BYTES, ret, diag);
	else if (debug_fd >= 0)
		r = read(f->worker, debug_fd, -1, FINDER_READ_BYTES, ret, diag);
	if (fd >= 0)
		close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return r;
}

static int symbols_anew(struct image_finder *f, struct found_image *im, struct image_symbols **ret,
			struct diag *diag)
{
	struct diag files = {""};
	int r;

	switch (im->id.kind) {
	case IMAGE_BUILD_ID:
	case IMAGE_CONTENT:
	case IMAGE_VDSO:
		return symbols_from_files(f, im, false, ret, diag);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		r = finder_kernel_symbols(f, im, ret, diag);
		if (r < 0 && im->id.kind != IMAGE_BPF)
			r = symbols_from_files(f, im, false, ret, &files);
		return r;
	case IMAGE_JIT:
		return diag_fail(diag, ENOENT,
				 "%s: the symbols of code made at run time were not kept when it "
				 "was profiled: have its program write them (node "
				 "--perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions "
				 "-XX:+DumpPerfMapAtExit, with -XX:+PreserveFramePointer for its "
				 "stacks, or another's /tmp/perf-PID.map)",
				 im->path);
	case IMAGE_SCRIPT:
		return diag_fail(
			diag, ENOENT,
			"%s: the names of its functions were not kept when it was profiled",
			im->path);
	case IMAGE_FILE_OFFSET:
		return diag_fail(diag, ENOENT, "%s could not be read when it was profiled",
				 im->path);
	default:
		return diag_fail(diag, ENOENT, "samples that no mapping explains");
	}
}

static bool is_file_kind(const struct image_id *id)
{
	return id->kind == IMAGE_BUILD_ID || id->kind == IMAGE_CONTENT;
}

/* The cache first; poor symbols only until a debug file has been installed, those that a profile
 * told only until there are others. */
static int find_symbols(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	struct image_symbols *cached = NULL, *better = NULL;
	struct diag why = {""};
	int r = finder_load_symbols(f, &im->id, &cached), cache_err = r;

	if (!r && finder_is_told(cached)) {
		if (symbols_anew(f, im, &better, NULL) == 0)
			finder_save_symbols(f, &im->id, better);
	} else if (!r && is_file_kind(&im->id) && is_poor(cached) &&
		   finder_may_have_debug(f, &im->id)) {
		int debug_fd = finder_open_debug(f, im, -1, NULL);

		if (debug_fd >= 0)
			close(debug_fd);
		if (debug_fd >= 0 && symbols_from_files(f, im, false, &better, NULL) == 0)
			finder_save_symbols(f, &im->id, better);
	} else if (r < 0) {
		r = symbols_anew(f, im, &cached, &why);
		if (!r)
			finder_save_symbols(f, &im->id, cached);
	}
	if (r < 0)
		return finder_fail(diag, r, &why, cache_err, "symbols are");
	im->symbols = better ? better : cached;
	if (better)
		image_symbols_free(cached);
	return 0;
}

int image_find_symbols(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag)
{
	struct found_image *im;
	int r = finder_image(f, id, path, &im, diag);

	if (r < 0)
		return r;
	if (!im->symbols_tried) {
		im->symbols_tried = true;
		im->symbols_error = find_symbols(f, im, &im->symbols_why);
	}
	if (im->symbols_error < 0)
		return diag_fail(diag, -im->symbols_error, "%s", im->symbols_why.text);
	*ret = im->symbols;
	return 0;
}

const struct image_function *image_find_name(struct image_finder *f, const struct image_id *id,
					     const char *path, uint64_t address)
{
	const struct image_symbols *functions;
	const struct image_function *fn = NULL;
	struct found_image *im;

	if (image_find_symbols(f, id, path, &functions, NULL) == 0)
		fn = image_symbols_find(functions, address);
	if (fn || !finder_has_file(id) || finder_image(f, id, path, &im, NULL) < 0)
		return fn;
	if (!im->data_tried)
		symbols_from_files(f, im, true, &im->data, NULL);
	im->data_tried = true;
	return im->data ? image_symbols_find(im->data, address) : NULL;
}

static void find_machine(struct image_finder *f, struct found_image *im)
{
	bool whole;

	if (finder_peek_code(f, &im->id, false, &im->machine, &im->bits, &whole) == 0)
		return;
	int fd = finder_open_file(f, im, NULL);
	if (fd < 0)
		return;
	close(fd);
	im->machine = im->file.machine;
	im->bits = im->file.bits;
}

void image_find_machine(struct image_finder *f, const struct image_id *id, const char *path,
			uint16_t *ret_machine, unsigned *ret_bits)
{
	struct found_image *im;

#if defined(__aarch64__)
	*ret_machine = EM_AARCH64;
#else
	*ret_machine = EM_X86_64;
#endif
	*ret_bits = 64;
	if (finder_image(f, id, path, &im, NULL) < 0)
		return;
	if (!im->machine_tried)
		find_machine(f, im);
	im->machine_tried = true;
	if (!im->bits)
		return;
	*ret_machine = im->machine;
	*ret_bits = im->bits;
}

/* What the database keeps of the image's code, for single functions of it: loaded once. */
static int kept_code(struct image_finder *f, struct found_image *im, uint64_t address, size_t size,
		     uint8_t **ret_data, size_t *ret_size)
{
	size_t left;

	if (!im->code_tried) {
		im->code_tried = true;
		im->code_error = finder_load_code(f, &im->id, false, &im->code);
	}
	const uint8_t *code = im->code ? image_layout_code(im->code, address, &left) : NULL;
	if (!code)
		return -ENOENT;
	if (size > left)
		size = left;
	uint8_t *data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	memcpy(data, code, size);
	*ret_data = data;
	*ret_size = size;
	return 0;
}

static int layout_of_file(struct image_finder *f, struct found_image *im, struct image_layout **ret,
			  struct diag *diag)
{
	int fd = finder_open_file(f, im, diag);

	if (fd < 0)
		return fd;
	struct image_layout *l;
	int r = image_worker_layout(f->worker, fd, IMAGE_LAYOUT_MAX_BYTES, &l, diag);
	close(fd);
	if (!r && !l->whole) {
		image_layout_free(l);
		r = diag_fail(diag, EFBIG, "%s has more than %u MiB of code and constants",
			      im->path, IMAGE_LAYOUT_MAX_BYTES >> 20);
	}
	if (!r)
		*ret = l;
	return r;
}

/* What is kept whole is used always; of a large file there are only pieces, and its file is better
 * as long as it is the one that was profiled. */
int image_find_layout(struct image_finder *f, const struct image_id *id, const char *path,
		      struct image_layout **ret, struct diag *diag)
{
	struct image_layout *kept = NULL;
	struct found_image *im;
	struct diag why = {""};
	int r = finder_image(f, id, path, &im, diag);

	if (r < 0)
		return r;
	int kept_err = finder_load_code(f, id, false, &kept);
	if (!kept_err && kept->whole) {
		*ret = kept;
		return 0;
	}
	r = layout_of_file(f, im, ret, &why);
	if (r < 0 && !kept_err) {
		*ret = kept;
		return 0;
	}
	image_layout_free(kept);
	return r < 0 ? finder_fail(diag, r, &why, kept_err, "code is") : 0;
}

int image_find_code(struct image_finder *f, const struct image_id *id, const char *path,
		    uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag)
{
	struct found_image *im;
	struct diag file_why = {""};
	int r = finder_image(f, id, path, &im, diag);

	if (r < 0)
		return r;
	if (image_id_is_kernel(id) &&
	    finder_kernel_code(f, im, address, size, ret_data, ret_size, diag) == 0)
		return 0;
	r = kept_code(f, im, address, size, ret_data, ret_size);
	if (r == 0 || r == -ENOMEM)
		return r < 0 ? diag_fail(diag, ENOMEM, "out of memory for code") : 0;
	int fd = finder_open_file(f, im, &file_why);
	r = fd;
	if (fd >= 0) {
		r = image_worker_code(f->worker, fd, address, size, ret_data, ret_size, &file_why);
		close(fd);
	}
	if (r < 0 && !image_id_is_kernel(id))
		return finder_fail(diag, r, &file_why, im->code_error, "code is");
	return r;
}

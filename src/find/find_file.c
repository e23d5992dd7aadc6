/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "image/elf/debug_link.h"
#include "find/finder.h"
#include "util/foreign.h"
#include "util/trusted.h"
#include "util/text.h"
#include "util/io.h"

/* True when both ids are of the same bytes: a kernel's build ID and that of its vmlinux. */
static bool is_same_content(const struct image_id *a, const struct image_id *b)
{
	return a->size == b->size && a->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static int open_regular(const char *path, struct stat *ret, struct diag *diag)
{
	int fd = foreign_open(path, ret);

	if (fd == -EBADMSG)
		return diag_fail(diag, ENOENT, "%s is not a regular file", path);
	return fd < 0 ? diag_fail(diag, -fd, "%s: %s", path, strerror(-fd)) : fd;
}

/* Opens again what was found before; what has changed since is no longer it. */
static int reopen(struct found_file *file, struct diag *diag)
{
	struct stat now;

	if (!file->path)
		return diag_fail(diag, file->error ? -file->error : ENOENT, "%s", file->why.text);
	int fd = open_regular(file->path, &now, diag);
	if (fd >= 0 && !foreign_is_same(&now, &file->stat)) {
		close(fd);
		return diag_fail(diag, ESTALE, "%s has changed just now", file->path);
	}
	return fd;
}

static int accept_file(struct found_file *file, const char *path, const struct stat *st,
		       bool claimed)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(file->path);
	file->path = copy;
	file->stat = *st;
	file->claimed = claimed;
	return 0;
}

/* Whoever has the database decides what is in it. */
static bool is_trusted(const struct image_finder *f, int fd)
{
	struct stat st;

	return trusted_content(fd, f->db_path && !stat(f->db_path, &st) ? st.st_uid : geteuid());
}

/* Of what the kernel tells of itself there is nothing to be written. */
static bool is_claim(const struct image_finder *f, const struct image_id *id, int fd)
{
	return (id->kind == IMAGE_BUILD_ID || id->kind == IMAGE_CONTENT) && !is_trusted(f, fd);
}

/* Looks whether path is the wanted content. A descriptor, or the reason in file->why. */
static int try_path(struct image_finder *f, const struct image_id *id, struct found_file *file,
		    const char *path)
{
	struct image_facts facts;
	struct diag diag = {""};
	struct stat st;
	char is[IMAGE_ID_TEXT_MAX], was[IMAGE_ID_TEXT_MAX];
	int fd = open_regular(path, &st, &file->why);

	if (fd < 0)
		return fd;
	int r = image_worker_facts(f->worker, fd, &facts, &diag);
	bool claimed = is_claim(f, id, fd);
	if (r < 0) {
		diag_fail(&file->why, ENOENT, "%s cannot be read: %s", path, diag.text);
	} else if (!is_same_content(&facts.id, id)) {
		image_id_format(&facts.id, is);
		image_id_format(id, was);
		r = diag_fail(
			&file->why, ESTALE,
			"%s is another build now: its build ID is %s, the profiled one was %s",
			path, is, was);
	} else if (claimed && !finder_counts_claims(f, id)) {
		r = diag_fail(&file->why, ESTALE,
			      "%s may be written by others, unlike the file that was profiled",
			      path);
	} else {
		r = accept_file(file, path, &st, claimed);
		file->machine = facts.machine;
		file->bits = facts.bits;
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* <debug root>/.build-id/xx/yyyy and a suffix. False when the id is not a build ID. */
static bool build_id_path(const struct image_finder *f, const struct image_id *id,
			  const char *suffix, char path[PATH_MAX])
{
	char hex[2 * IMAGE_ID_MAX + 1];

	if (id->kind == IMAGE_CONTENT || id->size < 2)
		return false;
	for (size_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s%s", f->debug_root, hex, hex + 2, suffix);
	return true;
}

static int try_build_id(struct image_finder *f, const struct image_id *id, struct found_file *file,
			const char *suffix)
{
	char path[PATH_MAX];

	return build_id_path(f, id, suffix, path) ? try_path(f, id, file, path) : -ENOENT;
}

bool finder_may_have_debug(const struct image_finder *f, const struct image_id *id)
{
	char path[PATH_MAX];
	const char *urls = getenv("DEBUGINFOD_URLS");

	return build_id_path(f, id, ".debug", path) && ((urls && *urls) || access(path, F_OK) == 0);
}

static int try_remote(struct image_finder *f, const struct image_id *id, struct found_file *file,
		      bool debug)
{
	char *path = NULL;
	int fd = debuginfod_fetch(&f->remote, id, debug, &path, NULL);

	if (fd < 0)
		return fd;
	close(fd);
	fd = try_path(f, id, file, path);
	free(path);
	return fd;
}

struct vmlinux_search {
	struct image_finder *finder;
	struct found_image *image;
	struct found_file *file;
};

static int try_vmlinux(void *arg, const char *path)
{
	struct vmlinux_search *s = arg;
	int fd = try_path(s->finder, &s->image->id, s->file, path);

	return fd < 0 ? -ENOENT : fd;
}

/* The path as it was recorded, and, as old databases have it, before the file was deleted. */
static int try_recorded(struct image_finder *f, struct found_image *im)
{
	char path[PATH_MAX];
	size_t size = strlen(im->path), plain = text_undeleted_size(im->path, size);

	if (im->path[0] != '/' || size >= sizeof(path))
		return diag_fail(&im->file.why, ENOENT, "%s is not a file", im->path);
	int fd = try_path(f, &im->id, &im->file, im->path);
	if (fd >= 0 || plain == size)
		return fd;
	snprintf(path, sizeof(path), "%.*s", (int)plain, im->path);
	return try_path(f, &im->id, &im->file, path);
}

static int find_file(struct image_finder *f, struct found_image *im)
{
	struct vmlinux_search search = {f, im, &im->file};
	char path[64];
	int fd = -ENOENT;

	switch (im->id.kind) {
	case IMAGE_BUILD_ID:
	case IMAGE_CONTENT:
		fd = try_recorded(f, im);
		break;
	case IMAGE_KERNEL:
		fd = finder_each_vmlinux(f->debug_root, try_vmlinux, &search);
		diag_fail(&im->file.why, ENOENT,
			  "no vmlinux file of this kernel is installed (see its debug package)");
		break;
	case IMAGE_VDSO:
		fd = finder_vdso(f);
		if (fd < 0)
			return fd;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		return try_path(f, &im->id, &im->file, path);
	case IMAGE_MODULE:
		break;
	case IMAGE_JIT:
		return diag_fail(&im->file.why, ENOENT,
				 "%s: code that was made at run time, or imported by its name "
				 "alone, is not kept",
				 im->path);
	default:
		return diag_fail(&im->file.why, ENOENT, "%s is not a file", im->path);
	}
	if (fd >= 0)
		return fd;
	/* What the recorded path says is the reason that matters, not these. */
	struct diag why = im->file.why;
	int r = fd;
	fd = try_build_id(f, &im->id, &im->file, "");
	if (fd < 0)
		fd = try_remote(f, &im->id, &im->file, false);
	if (fd >= 0 || !why.text[0])
		return fd;
	im->file.why = why;
	return r;
}

int finder_open_file(struct image_finder *f, struct found_image *im, struct diag *diag)
{
	int fd;

	if (im->file.tried) {
		fd = reopen(&im->file, diag);
		if (fd >= 0 || !im->file.path || strcmp(im->file.path, im->path) == 0)
			return fd;
		/* A name that lasted no longer; the image has another one since. */
		free(im->file.path);
		im->file.path = NULL;
	}
	im->file.tried = true;
	fd = find_file(f, im);
	if (fd < 0) {
		im->file.error = fd;
		diag_fail(diag, -fd, "%s", im->file.why.text);
	}
	return fd;
}

void finder_meet_file(struct image_finder *f, struct found_image *im)
{
	int fd = finder_has_file(&im->id) ? finder_open_file(f, im, NULL) : -1;

	if (fd < 0)
		return;
	close(fd);
	im->claims = im->file.claimed ? CLAIMS_COUNT : CLAIMS_DO_NOT;
}

bool finder_has_met(struct image_finder *f, struct found_image *im)
{
	int fd = finder_open_file(f, im, NULL);

	if (fd < 0)
		return true;
	close(fd);
	return im->file.claimed == finder_counts_claims(f, &im->id);
}

/* To compute the checksum of more takes too long: who waits for a report, and, where a collector
 * has many files to look at, all whose turn is later. */
#define LINKED_MAX_BYTES ((off_t)1 << 30)
#define LINKED_MAX_KEPT	 ((off_t)64 << 20)

static int file_crc(int fd, uint32_t *ret)
{
	uint8_t block[65536];
	uLong crc = crc32(0, NULL, 0);

	for (uint64_t at = 0;;) {
		ssize_t n = io_pread(fd, block, sizeof(block), at);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		crc = crc32(crc, block, (uInt)n);
		at += (uint64_t)n;
	}
	*ret = (uint32_t)crc;
	return 0;
}

/* A debug file that .gnu_debuglink names has no identity but its checksum, which is easily forged.
 * Whoever made the image chose the name: it must be his own file, or one that everybody may read;
 * and who may bind the image into a directory of his own must not choose the debug file of an image
 * that he could not write. */
static int try_linked(struct image_finder *f, struct found_image *im, const char *path,
		      const struct image_debug_link *link)
{
	const off_t max_bytes = f->keeps ? LINKED_MAX_KEPT : LINKED_MAX_BYTES;
	struct found_file *file = &im->debug;
	uint32_t crc = 0;
	struct stat st;
	int r = 0, fd = open_regular(path, &st, &file->why);

	if (fd < 0)
		return fd;
	bool claimed = !is_trusted(f, fd);
	if (claimed && !im->file.claimed)
		r = diag_fail(&file->why, EACCES, "%s may be written by others", path);
	else if (st.st_uid != im->file.stat.st_uid && !(st.st_mode & S_IROTH))
		r = diag_fail(&file->why, EACCES, "%s is not readable by everyone", path);
	else if (st.st_size > max_bytes)
		r = diag_fail(&file->why, EFBIG, "%s is too large to be checked", path);
	if (!r)
		r = file_crc(fd, &crc);
	if (!r && crc != link->crc)
		r = diag_fail(&file->why, ESTALE, "%s belongs to another build", path);
	if (!r)
		r = accept_file(file, path, &st, claimed);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* Where a file is, also one that is given by an open descriptor. */
static int name_directory(const char *path, char ret[PATH_MAX])
{
	static const char descriptors[] = "/proc/self/fd/";
	ssize_t n = -1;

	if (strncmp(path, descriptors, sizeof(descriptors) - 1) == 0)
		n = readlink(path, ret, PATH_MAX - 1);
	if (n < 0)
		n = snprintf(ret, PATH_MAX, "%s", path);
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	ret[n] = 0;
	char *slash = strrchr(ret, '/');
	if (!slash)
		return -ENOENT;
	*slash = 0;
	return 0;
}

/* Beside the image, in .debug/ there, and in the same directory under the debug root. */
static int try_debug_link(struct image_finder *f, struct found_image *im, int image_fd)
{
	struct image_debug_link link;
	char directory[PATH_MAX], path[PATH_MAX + 512];
	const char *const roots[] = {"", "", f->debug_root}, *const middles[] = {"", "/.debug", ""};
	int fd = -ENOENT;

	if (image_fd < 0 || !im->file.path ||
	    image_worker_debug_link(f->worker, image_fd, &link, NULL) < 0)
		return -ENOENT;
	if (name_directory(im->file.path, directory) < 0)
		return -ENOENT;
	for (size_t i = 0; i < 3 && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s%s/%s", roots[i], directory, middles[i],
			 link.name);
		if (strcmp(path, im->file.path) != 0)
			fd = try_linked(f, im, path, &link);
	}
	return fd;
}

int finder_open_debug(struct image_finder *f, struct found_image *im, int image_fd,
		      struct diag *diag)
{
	if (im->debug.tried && (im->debug.path || im->debug.linked || image_fd < 0))
		return reopen(&im->debug, diag);
	im->debug.tried = true;
	im->debug.linked = image_fd >= 0;
	int fd = try_build_id(f, &im->id, &im->debug, ".debug");
	if (fd < 0)
		fd = try_debug_link(f, im, image_fd);
	if (fd < 0)
		fd = try_remote(f, &im->id, &im->debug, true);
	if (fd < 0)
		diag_fail(diag, ENOENT, "no separate debug file");
	return fd;
}

int image_find_identity(struct image_finder *f, const char *path, struct image_id *ret,
			struct diag *diag)
{
	struct image_facts facts;
	struct diag why = {""};
	struct stat st;
	int fd = open_regular(path, &st, diag);

	if (fd < 0)
		return fd;
	int r = image_worker_facts(f->worker, fd, &facts, &why);
	close(fd);
	if (r < 0)
		return diag_fail(diag, -r, "%s cannot be read: %s", path, why.text);
	*ret = facts.id;
	return 0;
}

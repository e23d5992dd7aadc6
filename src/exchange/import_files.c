/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/import_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/vdso.h"
#include "util/foreign.h"

/* Whether a file that was found may be the one that was recorded. */
static bool is_same(const struct import_files *f, const struct harvest_image *image,
		    const struct image_facts *facts, const struct stat *st)
{
	if (image->build_id_size)
		return facts->id.size >= image->build_id_size &&
		       !memcmp(facts->id.bytes, image->build_id, image->build_id_size);
	if (image->inode && image->inode != st->st_ino)
		return false;
	return f->end_ns == 0 || (uint64_t)st->st_mtim.tv_sec * 1000000000 <= f->end_ns;
}

/* Takes over the descriptor. */
static int take_file(const struct import_files *f, const struct harvest_image *image, int fd,
		     const struct stat *st, struct import_file *ret)
{
	struct image_facts facts;
	struct diag diag;
	int r = image_worker_facts(f->worker, fd, &facts, &diag);

	if (!r && !is_same(f, image, &facts, st))
		r = -ESTALE;
	if (r) {
		close(fd);
		return r;
	}
	ret->fd = fd;
	ret->facts = facts;
	return 0;
}

static int try_path(const struct import_files *f, const struct harvest_image *image,
		    struct import_file *ret)
{
	struct stat st;
	int fd = foreign_open(ret->path, &st);

	return fd < 0 ? fd : take_file(f, image, fd, &st, ret);
}

/* What perf keeps of the files that it recorded. */
static int try_perf_cache(const struct import_files *f, const struct harvest_image *image,
			  struct import_file *ret)
{
	char hex[2 * IMAGE_ID_MAX + 1];
	const char *home = getenv("HOME");

	if (image->build_id_size < 2 || !home || strlen(home) > PATH_MAX / 2)
		return -ENOENT;
	for (size_t i = 0; i < image->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", image->build_id[i]);
	snprintf(ret->path, sizeof(ret->path), "%s/.debug/.build-id/%.2s/%s/%s", home, hex, hex + 2,
		 image->kind == HARVEST_VDSO ? "vdso" : "elf");
	return try_path(f, image, ret);
}

/* Where the profile does not say which it was it may be any kernel's. */
static int try_vdso(const struct import_files *f, const struct harvest_image *image,
		    struct import_file *ret)
{
	struct stat st = {0};
	int fd = image->build_id_size ? image_vdso_copy() : -1;

	snprintf(ret->path, sizeof(ret->path), "[vdso]");
	return fd < 0 ? -ENOENT : take_file(f, image, fd, &st, ret);
}

int import_files_open(const struct import_files *f, const struct harvest_image *image,
		      struct import_file *ret)
{
	int r = -ENOENT;

	if (image->path_size >= PATH_MAX || (f->root && strlen(f->root) >= PATH_MAX))
		return -ENAMETOOLONG;
	if (image->kind == HARVEST_VDSO)
		r = try_vdso(f, image, ret);
	if (r && f->root && image->kind != HARVEST_VDSO) {
		snprintf(ret->path, sizeof(ret->path), "%s/%.*s", f->root, (int)image->path_size,
			 image->path);
		r = try_path(f, image, ret);
	}
	if (r && r != -ENOMEM && image->kind != HARVEST_VDSO) {
		snprintf(ret->path, sizeof(ret->path), "%.*s", (int)image->path_size, image->path);
		r = try_path(f, image, ret);
	}
	if (r && r != -ENOMEM)
		r = try_perf_cache(f, image, ret);
	return r;
}

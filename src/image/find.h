/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_FIND_H
#define CULPRIT_IMAGE_FIND_H

#include <stddef.h>
#include <stdint.h>
#include "image/lines.h"
#include "image/symbols.h"
#include "image/worker.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * For reports: from an image's identity and the path it was last seen at to its symbols, lines and
 * code, wherever they still are: the database's cache, the file (only if its identity still is the
 * one that was profiled), a separate debug file by build-id or debuglink, debuginfod when
 * DEBUGINFOD_URLS is set; for the kernel kallsyms, vmlinux, /proc/kcore or the running kernel's
 * memory. What is found is put into the cache when the database may be written.
 */
struct image_finder;

/* db_path and machine may be NULL: then nothing is cached. Both are copied. */
int image_finder_new(const char *db_path, const char *machine, struct image_finder **ret);
void image_finder_free(struct image_finder *f);

/* Owned by the finder. -ENOENT, with the reason in diag, when nothing is known of the image. */
int image_find_symbols(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
/* image_lines_free() the result. */
int image_find_lines(struct image_finder *f, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag);
/* free() the data. */
int image_find_code(struct image_finder *f, const struct image_id *id, const char *path,
		    uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag);

#endif

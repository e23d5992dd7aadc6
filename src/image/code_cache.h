/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_CODE_CACHE_H
#define CULPRIT_IMAGE_CODE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"

/*
 * Pieces of an image's code by address, and their saved form (db/blob.h, kind "code"): for images
 * whose file will be gone when the report is made.
 */
#define CODE_CACHE_MAX_BYTES (8u << 20) /* of code, an image */

struct code_piece {
	uint64_t start;
	size_t size;
	uint8_t *data; /* malloc'ed */
};

struct code_cache {
	struct code_piece *list; /* sorted, not overlapping */
	size_t count, room;
	uint64_t bytes;
};

void code_cache_free(struct code_cache *c); /* what it owns, not c itself */
/*
 * Adds a copy; what is there already stays as it is. 0, -ENOSPC past the maximum, -ENOMEM; -EINVAL
 * for an empty piece or one that wraps around.
 */
int code_cache_add(struct code_cache *c, uint64_t start, const uint8_t *data, size_t size);
/* The piece that has address, NULL when none does. */
const struct code_piece *code_cache_find(const struct code_cache *c, uint64_t address);

int code_cache_save(const struct code_cache *c, struct buf *out);
/* Adds what was saved to c. -EBADMSG on bytes that are not that; then c may have some of it. */
int code_cache_load(struct code_cache *c, const void *data, size_t size);

#endif

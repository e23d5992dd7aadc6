/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_SCRIPT_H
#define CULPRIT_IMAGE_SCRIPT_H

#include <stddef.h>
#include <stdint.h>
#include "image/lines.h"
#include "image/symbols.h"
#include "util/identity.h"

/*
 * Images of kind IMAGE_SCRIPT: source files that an interpreter runs. The image is named by the
 * file's path as the interpreter knows it, and an offset in it by what lasts from run to run: the
 * line where the function begins, its name, and the line in it. So functions stand in the order of
 * the file, nested ones in ranges of their own, and an offset alone tells its line:
 *
 *	first line (23 bits), hash of the name (20), line - first line (20)
 */
#define IMAGE_SCRIPT_LINES	(1u << 20) /* of a function, at most; also its size in offsets */
#define IMAGE_SCRIPT_FIRST_LINE ((1u << 23) - 1)

/* The image of a path. */
void image_script_id(const char *path, size_t path_size, struct image_id *ret);
/* The offset of a function, and of a line in it (clamped to the limits). */
uint64_t image_script_function(uint32_t first_line, const char *name, size_t name_size);
uint64_t image_script_offset(uint64_t function, uint32_t line);
/* The line that an offset stands for. */
uint32_t image_script_line(uint64_t offset);

/* Merges the functions of both. 0, -ENOMEM. */
int image_script_merge(const struct image_symbols *a, const struct image_symbols *b,
		       struct image_symbols **ret);
/* The lines of offsets; symbols may be NULL. 0, -ENOMEM, -EFBIG. */
int image_script_lines(const char *path, const struct image_symbols *symbols,
		       const uint64_t *offsets, size_t count, struct image_lines **ret);

#endif

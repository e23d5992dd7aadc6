/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LINES_NEW_H
#define CULPRIT_IMAGE_LINES_NEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/lines.h"

/* Making a struct image_lines, for its reader and its loader only. */

#define LINES_FRAMES_MAX     64 /* of one address; outer ones past it are left out */
#define LINES_ALL_FRAMES_MAX (8u << 20)
#define LINES_STRINGS_MAX    4194304 /* distinct names of functions and files */
#define LINES_STRING_MAX     16384   /* a longer name counts as not known */

int image_lines_new(size_t count, struct image_lines **ret);
/* The number of a name, 0 when it is NULL or not kept. */
uint32_t image_lines_string(struct image_lines *l, const char *s);
/* The same for a source file; md5 is that of its text, NULL: not known. For a file that had several
 * texts none is known. */
uint32_t image_lines_file(struct image_lines *l, const char *path,
			  const uint8_t md5[IMAGE_LINES_MD5_BYTES]);

struct lines_frame {
	uint32_t function, file, linkage; /* from image_lines_string */
	uint32_t line, start_line, discriminator;
};
/* Sets the frames of address i. 0, -ENOMEM, -EFBIG. To be called once for each i at most. */
int image_lines_set(struct image_lines *l, size_t i, const struct lines_frame *frames, size_t n);
/* The same, from address k of another, before or after its image_lines_finish. */
int image_lines_copy(struct image_lines *l, size_t i, const struct image_lines *from, size_t k);
/* Whether address i has the same frames as address k of another, of the same image. */
bool image_lines_same(const struct image_lines *l, size_t i, const struct image_lines *from,
		      size_t k);
/* When the image's file was last written, ns since 1970. Before image_lines_finish. */
void image_lines_set_built(struct image_lines *l, uint64_t built_ns);
uint64_t image_lines_built(const struct image_lines *l);
size_t image_lines_count(const struct image_lines *l);
/* Whether anything is known of address i. */
bool image_lines_knows(const struct image_lines *l, size_t i);
size_t image_lines_all_frames(const struct image_lines *l);
/* Keeps only the first count addresses. */
void image_lines_cut(struct image_lines *l, size_t count);
/* To be called once, after the last image_lines_set and before image_lines_frames: it takes twice
 * as much memory as all before it. */
int image_lines_finish(struct image_lines *l);
/* image_lines_load without image_lines_finish. */
int image_lines_load_unfinished(const void *data, size_t size, struct image_lines **ret);

#endif

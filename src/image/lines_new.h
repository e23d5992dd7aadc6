/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LINES_NEW_H
#define CULPRIT_IMAGE_LINES_NEW_H

#include <stddef.h>
#include <stdint.h>
#include "image/lines.h"

/* Making a struct image_lines, for its reader and its loader only. */

#define LINES_FRAMES_MAX  64	  /* of one address; outer ones past it are left out */
#define LINES_STRINGS_MAX 4194304 /* distinct names of functions and files */
#define LINES_STRING_MAX  16384	  /* a longer name counts as not known */

int image_lines_new(size_t count, struct image_lines **ret);
/* The number of a name, 0 when it is NULL or not kept. */
uint32_t image_lines_string(struct image_lines *l, const char *s);

struct lines_frame {
	uint32_t function, file, linkage; /* from image_lines_string */
	uint32_t line, start_line, discriminator;
};
/* Sets the frames of address i. 0, -ENOMEM, -EFBIG. To be called once for each i at most. */
int image_lines_set(struct image_lines *l, size_t i, const struct lines_frame *frames, size_t n);
/* To be called once, after the last image_lines_set. */
int image_lines_finish(struct image_lines *l);

#endif

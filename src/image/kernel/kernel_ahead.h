/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_AHEAD_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_AHEAD_H

#include "image/symbols.h"
#include "util/identity.h"

/*
 * The running kernel's symbols, read by a thread while there is other work to do: the kernel takes
 * 50 ms to write its list of them, a fifth of what an import of 100 MB takes.
 */
struct kernel_ahead;

/* Begins to read. root: whose /proc to read; not copied. 0 or a negative errno. */
int kernel_ahead_start(const char *root, struct kernel_ahead **ret);
/* Waits for them and hands them over, once: image_symbols_free() the result. -ENOENT when another
 * kernel is running or they were taken already; else the error of reading them. */
int kernel_ahead_take(struct kernel_ahead *a, const struct image_id *id,
		      struct image_symbols **ret);
void kernel_ahead_free(struct kernel_ahead *a); /* waits; NULL is allowed */

#endif

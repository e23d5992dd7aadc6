/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LINES_H
#define CULPRIT_IMAGE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * Source positions of addresses from DWARF, with the chain of inlined functions: frame 0 is the
 * innermost (where the instruction's code was written), the last is the function that contains the
 * code.
 */
struct image_frame {
	const char *function; /* demangled, NULL when not known */
	const char *file;     /* full path as recorded, NULL when not known */
	uint32_t line;	      /* 0 when not known */
	/* The text of the file that was compiled, as MD5; NULL: not known (DWARF 5 may have it). */
	const uint8_t *file_md5;
	uint64_t built_ns; /* when the image's file was last written, since 1970; 0: not known */
	/* For exchange with compilers. */
	const char *linkage;	/* the function's name as it is in object files; NULL: not known */
	uint32_t start_line;	/* of the function's declaration; 0: not known */
	uint32_t discriminator; /* tells blocks of one line apart */
};

#define IMAGE_LINES_MD5_BYTES 16

struct image_lines;

void image_lines_free(struct image_lines *l);
/* The frames of the i-th address that was asked for; count 0 when nothing is known of it. */
size_t image_lines_frames(const struct image_lines *l, size_t i, const struct image_frame **ret);

/*
 * fd is the image, debug_fd its separate debug file or -1. Foreign format: privileged callers go
 * through image/worker/worker.h. Addresses in any order. -ENOENT: neither file has DWARF (why, in
 * diag).
 */
int image_lines_read(int fd, int debug_fd, const uint64_t *addresses, size_t count,
		     struct image_lines **ret, struct diag *diag);

/* The form in which the worker sends them. Loading is safe on hostile bytes (-EBADMSG). */
int image_lines_save(const struct image_lines *l, struct buf *out);
int image_lines_load(const void *data, size_t size, struct image_lines **ret, struct diag *diag);

#endif

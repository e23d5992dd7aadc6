/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LAYOUT_H
#define CULPRIT_IMAGE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * What an analysis of an ELF file's machine code needs, apart from symbols: its bytes as the
 * program finds them (code and data that it cannot write, relocated), the frames of .eh_frame,
 * landing pads, and the names behind the words through which it reaches other images.
 */
struct image_layout_part { /* bytes */
	uint64_t address, size;
	uint8_t *data;
};

struct image_layout_range {
	uint64_t start, end;
};

struct image_layout_frame {
	uint64_t start, size;
	uint64_t part; /* not 0: not the start of a function (ehframe.h) */
};

struct image_layout_landing {
	uint64_t function, address; /* function: the start of its frame */
};

struct image_layout_external {
	uint64_t address; /* of a word that the dynamic linker fills */
	const char *name;
};

/* Every list in rising order of its first field. */
struct image_layout {
	uint16_t machine;
	unsigned bits;
	struct image_layout_part *parts;
	struct image_layout_range *code;
	struct image_layout_frame *frames;
	struct image_layout_landing *landings;
	struct image_layout_external *externals;
	size_t part_count, code_count, frame_count, landing_count, external_count;
	char *names;
};

/* The most bytes of parts; a file with more is refused with -EFBIG. */
#define IMAGE_LAYOUT_MAX_BYTES (1u << 30)

void image_layout_free(struct image_layout *l);

/*
 * In two steps, because the first reads a foreign format and the second needs nothing but reads of
 * the file: describe (in the worker), then load in the parent, which believes nothing of it.
 * -EBADMSG; -EFBIG; -EOPNOTSUPP for relocatable files and big-endian ones.
 */
int image_layout_describe(int fd, struct buf *out, struct diag *diag);
int image_layout_load(const void *description, size_t size, int fd, struct image_layout **ret,
		      struct diag *diag);

#endif

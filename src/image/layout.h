/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LAYOUT_H
#define CULPRIT_IMAGE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/range.h"
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

/* Every list in ascending order of its first field. */
struct image_layout {
	bool whole; /* parts are all that the file has, not only pieces of its code */
	uint16_t machine;
	unsigned bits;
	struct image_layout_part *parts;
	struct image_range *code;
	struct image_layout_frame *frames;
	struct image_layout_landing *landings;
	struct image_layout_external *externals;
	uint64_t part_bytes; /* of all parts */
	size_t part_count, part_room, code_count, frame_count, landing_count, external_count;
	char *names;
};

/* The most bytes of parts. */
#define IMAGE_LAYOUT_MAX_BYTES (1u << 30)

void image_layout_free(struct image_layout *l);

/*
 * In two steps, because the first reads a foreign format and the second needs nothing but reads of
 * the file: describe (in the worker), then load in the parent, which trusts none of it. -EBADMSG;
 * -EFBIG; -EOPNOTSUPP for relocatable files and big-endian ones.
 */
int image_layout_describe(int fd, struct buf *out, struct diag *diag);
/* Of a file with more than max_bytes of parts (at most IMAGE_LAYOUT_MAX_BYTES) none are read: all
 * but the bytes is known then, and the layout is not whole. */
int image_layout_load(const void *description, size_t size, int fd, uint64_t max_bytes,
		      struct image_layout **ret, struct diag *diag);

/*
 * layout_kept.c: the form in which a database keeps it (db/blob.h, kind "code"), with whatever
 * parts there are. Opening is safe on hostile bytes (-EBADMSG).
 */
#define IMAGE_LAYOUT_KEPT_MAX_BYTES (16u << 20) /* of parts, per image */
/* The most parts, as each costs memory of its own; adjacent functions join into few. */
#define IMAGE_LAYOUT_KEPT_MAX_PARTS (1u << 18)

int image_layout_save(const struct image_layout *l, struct buf *out);
int image_layout_open(const void *data, size_t size, struct image_layout **ret);
/* Reads only the first words of such data: what kind of machine code it is (ELF's EM_..., 32 or
 * 64). */
int image_layout_peek(const void *data, size_t size, uint16_t *ret_machine, unsigned *ret_bits,
		      bool *ret_whole);
/*
 * Adds a copy of bytes; what is there already stays as it is. 0, -ENOSPC past
 * IMAGE_LAYOUT_KEPT_MAX_BYTES, -ENOMEM; -EINVAL for an empty piece or one that wraps around.
 */
int image_layout_add(struct image_layout *l, uint64_t address, const uint8_t *data, size_t size);
/* The bytes of the code at address, and how many there are without a gap; NULL: none. */
const uint8_t *image_layout_code(const struct image_layout *l, uint64_t address, size_t *ret_size);

#endif

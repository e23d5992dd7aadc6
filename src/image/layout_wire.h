/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LAYOUT_WIRE_H
#define CULPRIT_IMAGE_LAYOUT_WIRE_H

#include "image/layout.h"

/*
 * The description that goes from the worker to its parent (same program): this head, then the
 * lists, each in ascending order of its first field, then the names. For the files layout_*.c only.
 */
enum wire_list {
	WIRE_PARTS,
	WIRE_RANGES,
	WIRE_FRAMES,
	WIRE_LANDINGS,
	WIRE_WORDS,
	WIRE_EXTERNALS,
	WIRE_NAMES, /* bytes: strings with their terminators */
	WIRE_LISTS
};

struct wire_layout {
	uint32_t machine, bits;
	uint64_t counts[WIRE_LISTS];
};

struct wire_part {
	uint64_t address, offset, size; /* offset: in the file */
};

struct wire_word { /* 8 bytes whose value is not that of the file */
	uint64_t address, value;
};

struct wire_external {
	uint64_t address, name; /* name: offset in the names */
};

/* The size of an entry of each list; ranges, frames and landings are as a layout has them. */
static const size_t wire_sizes[WIRE_LISTS] = {sizeof(struct wire_part),
					      sizeof(struct image_range),
					      sizeof(struct image_layout_frame),
					      sizeof(struct image_layout_landing),
					      sizeof(struct wire_word),
					      sizeof(struct wire_external),
					      1};

#endif

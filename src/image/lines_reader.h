/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LINES_READER_H
#define CULPRIT_IMAGE_LINES_READER_H

#include <elfutils/libdw.h>
#include "image/dwarf_inline.h"
#include "image/lines.h"

/* The internals of reading lines; for the files lines_read.c and line_table_read.c only. */

/*
 * Which unit has an address is taken from the units' own ranges, not from .debug_aranges, which
 * Clang does not write. Addresses are then served unit by unit and function by function, so each
 * line table and each tree of inlined functions is read once.
 */
struct lines_reader {
	Dwarf *dwarf;
	Dwarf_Die *units;
	size_t unit_count, unit_room;
	struct dwarf_tree unit_ranges; /* node: the number of the unit */
	struct image_lines *lines;
	/* Of the current unit. */
	uint32_t unit;
	struct dwarf_tree functions;
	Dwarf_Files *files;
	uint8_t (*md5s)[IMAGE_LINES_MD5_BYTES]; /* of the texts of files */
	size_t md5_count;
	/* Of the current function. */
	uint32_t function;
	struct dwarf_tree inlines;
};

/* The first file (a debug file, the image; -1: none) with DWARF that has code. -ENOENT: neither. */
int lines_reader_open(struct lines_reader *r, const int fds[2], struct diag *diag);
void lines_reader_close(struct lines_reader *r);
int lines_enter_unit(struct lines_reader *r, uint32_t unit);
/* Sets r->lines, made for count, to the lines of the addresses. */
int lines_serve(struct lines_reader *r, const uint64_t *addresses, size_t count);

#endif

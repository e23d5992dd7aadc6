/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SOURCE_H
#define CULPRIT_CFG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/layout.h"

/*
 * What the builder of control-flow graphs knows of an image: plain arrays, so that tests and the
 * fuzzer make them up. cfg/open.h fills one from an image's file. Nothing in it is trusted: lists
 * may overlap, lie, and lead nowhere. Each list is in ascending order of its address.
 */

/* Bytes of the image. Of data: as the program finds them after relocation, and cannot write. */
struct cfg_bytes {
	uint64_t address;
	const uint8_t *data;
	size_t size;
};

/* Where a function is said to be. */
struct cfg_extent {
	uint64_t start, size; /* size 0: not known */
	const char *name;     /* or NULL */
	bool frame;	      /* from .eh_frame (both start and size are exact), else a symbol */
	bool part; /* the frame there is not that of a fresh call: not a function's start */
};

struct cfg_source {
	uint16_t machine; /* ELF's EM_... */
	unsigned bits;
	bool kernel; /* ud2 (WARN) and hlt may go on, thunks stand for indirect branches */
	const struct cfg_bytes *code;
	size_t code_count;
	const struct cfg_bytes *data;
	size_t data_count;
	const struct cfg_extent *extents;
	size_t extent_count;
	/* Of a function that has the address, or owns the part that has it; by its extent. */
	const struct image_layout_landing *landings;
	size_t landing_count;
	/* Places that stand for functions of other images: PLT entries, slots of the GOT. */
	const struct image_layout_external *externals;
	size_t external_count;
};

#endif

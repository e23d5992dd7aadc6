/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SOURCE_H
#define CULPRIT_CFG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/layout.h"

/*
 * What the builder of control-flow graphs knows of an image: plain arrays, which tests and the
 * fuzzer can make up. cfg/open.h makes them from an image's file. None of it is trusted: lists may
 * overlap, contradict each other, and point nowhere. Each list ascends by address.
 */

/* Bytes of the image. Of data, only bytes that the program cannot change, as they are after
 * relocation. */
struct cfg_bytes {
	uint64_t address;
	const uint8_t *data;
	size_t size;
};

/* The address range that a frame description or a symbol gives for a function. */
struct cfg_extent {
	uint64_t start, size; /* size 0: not known */
	const char *name;     /* or NULL */
	bool frame;	      /* from .eh_frame (start and size are exact); else from a symbol */
	bool part;	      /* its frame is not that of a new call: no function starts there */
};

struct cfg_source {
	uint16_t machine; /* ELF's EM_... */
	unsigned bits;
	bool kernel; /* ud2 (WARN) and hlt may continue; thunks stand for indirect branches */
	const struct cfg_bytes *code;
	size_t code_count;
	const struct cfg_bytes *data;
	size_t data_count;
	const struct cfg_extent *extents;
	size_t extent_count;
	/* Landing pads; function is the start of the extent that each belongs to. */
	const struct image_layout_landing *landings;
	size_t landing_count;
	/* Addresses that stand for functions of other images: PLT entries, slots of the GOT. */
	const struct image_layout_external *externals;
	size_t external_count;
};

#endif

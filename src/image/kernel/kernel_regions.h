/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_REGIONS_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/kernel/kernel.h"

/*
 * The parts of the kernel's address space, sorted by address, never overlapping. Internal to the
 * kernel_*.c files.
 */
#define KERNEL_REGIONS_MAX 65536

struct kernel_region {
	struct image_kernel_region region; /* its path is owned here */
	bool exact;			   /* the end is known, not guessed from the next symbol */
	uint8_t gone;			   /* refreshes since it went, from 1; 0: it is there */
};

struct kernel_regions {
	struct kernel_region *list;
	size_t count, room;
	uint64_t refused;	       /* past KERNEL_REGIONS_MAX */
	uint64_t core_start, core_end; /* the core kernel with its data and what ran at boot */
};

void kernel_regions_free(struct kernel_regions *s); /* what it owns, not s itself */
/* Appends, out of order; kernel_regions_sort() makes it a set again. Copies the path. */
int kernel_regions_append(struct kernel_regions *s, const struct kernel_region *r);
/* Sorts by address; one that overlaps the next is cut there, one left empty is removed. */
void kernel_regions_sort(struct kernel_regions *s);
/* True when no region has an address of [start, end). */
bool kernel_regions_is_free(const struct kernel_regions *s, uint64_t start, uint64_t end);
/* Adds one in its place: those that start inside it are removed, one that reaches into it is cut.
 * -EINVAL when that one is the core kernel, which nothing replaces; -ENOSPC, counted. */
int kernel_regions_insert(struct kernel_regions *s, const struct kernel_region *r);
/* The index of the region that has address, -1 when none does. */
long kernel_regions_find(const struct kernel_regions *s, uint64_t address);
/* The index of the region that starts at address exactly, -1 when none does. */
long kernel_regions_find_start(const struct kernel_regions *s, uint64_t address);

#endif

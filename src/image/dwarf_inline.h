/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_DWARF_INLINE_H
#define CULPRIT_IMAGE_DWARF_INLINE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions of one compilation unit and, one function at a time, the tree of what was inlined
 * into it, flattened so that an address finds its place by comparing numbers. For lines_read.c.
 */

struct dwarf_range {
	uint64_t start, end;
	uint32_t node;
};

struct dwarf_node {
	Dwarf_Die die;	 /* a subprogram, or an inlined one */
	uint32_t parent; /* UINT32_MAX: none */
	uint32_t depth;
	/* Filled in by the user of the tree. */
	uint32_t name, linkage, start_line;
	uint32_t call_file, call_line, call_discriminator;
	uint8_t described;
};

struct dwarf_tree {
	struct dwarf_node *nodes;
	size_t count, room;
	struct dwarf_range *ranges;
	size_t range_count, range_room;
};

void dwarf_tree_free(struct dwarf_tree *t);

/* All functions with code in the unit, as nodes without parents; ranges sorted by start. */
int dwarf_tree_functions(Dwarf_Die *unit, struct dwarf_tree *t);
/* The function and all that is inlined into it; node 0 is the function. */
int dwarf_tree_inlines(Dwarf_Die *function, struct dwarf_tree *t);
/* The deepest node that contains the address, UINT32_MAX when none does. */
uint32_t dwarf_tree_find(const struct dwarf_tree *t, uint64_t address);
/* The same for a tree of functions, by binary search. */
uint32_t dwarf_tree_find_function(const struct dwarf_tree *t, uint64_t address);

/*
 * Appends the ranges of a DIE under the number node; what the linker threw away (start 0) is left
 * out. 0 or -ENOMEM, -EFBIG.
 */
int dwarf_tree_add_ranges(struct dwarf_tree *t, Dwarf_Die *die, uint32_t node);
void dwarf_tree_sort(struct dwarf_tree *t);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/dwarf_inline.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define TREE_DEPTH_MAX 256 /* of nested scopes; deeper ones count as their parent */
#define TREE_NODES_MAX (1u << 22)

void dwarf_tree_free(struct dwarf_tree *t)
{
	free(t->nodes);
	free(t->ranges);
	*t = (struct dwarf_tree){0};
}

static int add_node(struct dwarf_tree *t, const Dwarf_Die *die, uint32_t parent)
{
	if (t->count == TREE_NODES_MAX)
		return -EFBIG;
	if (array_grow(&t->nodes, t->count, &t->room, sizeof(*t->nodes), 64))
		return -ENOMEM;
	t->nodes[t->count++] = (struct dwarf_node){
		.die = *die,
		.parent = parent,
		.depth = parent == UINT32_MAX ? 0 : t->nodes[parent].depth + 1,
	};
	return 0;
}

int dwarf_tree_add_ranges(struct dwarf_tree *t, Dwarf_Die *die, uint32_t node)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start == 0 || start >= end)
			continue;
		if (t->range_count == TREE_NODES_MAX)
			return -EFBIG;
		if (array_grow(&t->ranges, t->range_count, &t->range_room, sizeof(*t->ranges), 64))
			return -ENOMEM;
		t->ranges[t->range_count++] = (struct dwarf_range){start, end, node};
	}
	return 0;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct dwarf_range *a = pa, *b = pb;

	return NUM_ORDER(a->start, b->start) ?: NUM_ORDER(a->node, b->node);
}

void dwarf_tree_sort(struct dwarf_tree *t)
{
	array_sort(t->ranges, t->range_count, sizeof(*t->ranges), compare_ranges);
}

/* The next sibling; a hostile DW_AT_sibling may point back, which would be a loop. */
static int next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	if (dwarf_siblingof(die, die) != 0)
		return 0;
	return dwarf_dieoffset(die) > before;
}

static int add_function(struct dwarf_tree *t, Dwarf_Die *die)
{
	size_t ranges = t->range_count;
	int r = dwarf_tree_add_ranges(t, die, (uint32_t)t->count);

	if (!r && t->range_count > ranges)
		r = add_node(t, die, UINT32_MAX);
	return r;
}

/* Functions are children of the unit or of namespaces and types in it. */
static int add_functions(struct dwarf_tree *t, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth == TREE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			r = add_function(t, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			r = add_functions(t, &die, depth + 1);
			break;
		}
	} while (!r && next_sibling(&die));
	return r;
}

int dwarf_tree_functions(Dwarf_Die *unit, struct dwarf_tree *t)
{
	int r = add_functions(t, unit, 0);

	dwarf_tree_sort(t);
	return r;
}

/* Lexical blocks are passed through: what is inlined in them counts as their function's. */
static int add_inlines(struct dwarf_tree *t, Dwarf_Die *parent, uint32_t node, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth == TREE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		uint32_t made = (uint32_t)t->count;

		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			r = add_node(t, &die, node);
			if (!r)
				r = dwarf_tree_add_ranges(t, &die, made);
			if (!r)
				r = add_inlines(t, &die, made, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			r = add_inlines(t, &die, node, depth + 1);
			break;
		}
	} while (!r && next_sibling(&die));
	return r;
}

int dwarf_tree_inlines(Dwarf_Die *function, struct dwarf_tree *t)
{
	t->count = t->range_count = 0;
	int r = add_node(t, function, UINT32_MAX);
	if (!r)
		r = dwarf_tree_add_ranges(t, function, 0);
	return r ? r : add_inlines(t, function, 0, 0);
}

uint32_t dwarf_tree_find(const struct dwarf_tree *t, uint64_t address)
{
	uint32_t best = UINT32_MAX;

	for (size_t i = 0; i < t->range_count; i++) {
		const struct dwarf_range *r = &t->ranges[i];

		if (address < r->start || address >= r->end)
			continue;
		if (best == UINT32_MAX || t->nodes[r->node].depth > t->nodes[best].depth)
			best = r->node;
	}
	return best;
}

uint32_t dwarf_tree_find_function(const struct dwarf_tree *t, uint64_t address)
{
	size_t low = SEARCH_FIRST(t->range_count, i, t->ranges[i].start > address);

	if (low == 0 || address >= t->ranges[low - 1].end)
		return UINT32_MAX;
	return t->ranges[low - 1].node;
}

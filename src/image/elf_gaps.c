/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Where functions start in code that neither symbols nor .eh_frame tell of: by its bytes, of which
 * nothing is decoded, so that the 235 MB of a browser take a fraction of a second. In such a gap a
 * function is believed to start
 *   - where the program begins, and where a call leads, if what stands before ends a function or
 *     fills up after one;
 *   - at a multiple of 16 after int3, with which compilers fill up between functions alone;
 *   - there, too, where a function with a frame pointer or for indirect branches begins (push rbp;
 *     mov rbp, rsp. endbr64) behind an end or filling.
 * Bytes that only look like a call lead anywhere, and seldom to a place that passes for a start.
 */

/* Shorter ones are filling between functions. */
#define GAP_MIN 32
#define ALIGNED 16

struct gap_search {
	struct symbol_set *set;
	struct elf_region *known; /* functions of a known size, by start */
	size_t known_count, next;
	uint64_t entry;
	uint64_t start, end;  /* the region */
	const uint8_t *bytes; /* its bytes */
	uint64_t base;	      /* its start, aligned */
	uint8_t *found;	      /* a bit for each byte from base: thousands call the same function */
};

static int list_known(struct gap_search *g)
{
	g->known = calloc(g->set->count + 1, sizeof(*g->known));
	if (!g->known)
		return -ENOMEM;
	for (size_t i = 0; i < g->set->count; i++) {
		const struct symbol_candidate *c = &g->set->list[i];

		if (c->size && c->size <= UINT64_MAX - c->start)
			g->known[g->known_count++] =
				(struct elf_region){c->start, c->start + c->size};
	}
	array_sort(g->known, g->known_count, sizeof(*g->known), num_compare_u64);
	return 0;
}

/* Whether the bytes before p, of which there are so many, are a nop. */
static bool ends_in_nop(const uint8_t *p, uint64_t before)
{
	static const struct {
		uint8_t size, bytes[8];
	} nops[] = {
		{1, {0x90}},
		{3, {0x0f, 0x1f, 0x00}},
		{4, {0x0f, 0x1f, 0x40, 0x00}},
		{5, {0x0f, 0x1f, 0x44, 0x00, 0x00}},
		{7, {0x0f, 0x1f, 0x80, 0, 0, 0, 0}},
		{8, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
	};

	for (size_t i = 0; i < sizeof(nops) / sizeof(*nops); i++)
		if (before >= nops[i].size &&
		    !memcmp(p - nops[i].size, nops[i].bytes, nops[i].size))
			return true;
	return false;
}

/* Whether a function may start at p: what is before returns, jumps, traps, or fills up. */
static bool follows_end(const uint8_t *p, uint64_t before)
{
	if (before == 0 || p[-1] == 0xcc || p[-1] == 0xc3)
		return true;
	if (before >= 2 && p[-2] == 0x0f && p[-1] == 0x0b)
		return true;
	if (before >= 5 && p[-5] == 0xe9)
		return true;
	return ends_in_nop(p, before);
}

static bool has_prologue(const uint8_t *p, uint64_t after)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5},
			     branch[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return after >= sizeof(frame) &&
	       (!memcmp(p, frame, sizeof(frame)) || !memcmp(p, branch, sizeof(branch)));
}

static void note_start(struct gap_search *g, uint64_t address)
{
	uint64_t bit = address - g->base;

	g->found[bit / 8] |= (uint8_t)(1 << bit % 8);
}

static void find_called(struct gap_search *g)
{
	uint64_t size = g->end - g->start;
	const uint8_t *end = g->bytes + size, *p = g->bytes;

	for (; end - p >= 5 && (p = memchr(p, 0xe8, (size_t)(end - p) - 4)); p++) {
		int32_t distance;
		uint64_t to;

		memcpy(&distance, p + 1, sizeof(distance));
		to = (uint64_t)(p - g->bytes) + 5 + (uint64_t)(int64_t)distance;
		if (to < size && follows_end(g->bytes + to, to))
			note_start(g, g->start + to);
	}
}

static bool starts_aligned(const struct gap_search *g, uint64_t address)
{
	const uint8_t *p = g->bytes + (address - g->start);

	if (*p == 0xcc)
		return false;
	return (address > g->start && p[-1] == 0xcc) ||
	       (has_prologue(p, g->end - address) && follows_end(p, address - g->start));
}

/* The starts among the 16 bytes at an aligned address, as far as they are in the gap. */
static int add_16(struct gap_search *g, uint64_t address, const struct elf_region *gap)
{
	uint64_t at = (address - g->base) / 8;
	unsigned bits = g->found[at] | (unsigned)g->found[at + 1] << 8;
	int r = 0;

	if (address >= g->start && starts_aligned(g, address))
		bits |= 1;
	for (; bits && !r; bits &= bits - 1) {
		struct symbol_candidate c = {.start = address + (unsigned)__builtin_ctz(bits),
					     .limit = gap->end,
					     .rank = SYMBOL_START};

		if (c.start >= gap->start && c.start < gap->end)
			r = symbol_set_add(g->set, &c, NULL);
	}
	return r;
}

static int add_gap(struct gap_search *g, uint64_t start, uint64_t end)
{
	const struct elf_region gap = {start, end};
	int r = 0;

	if (end < start || end - start < GAP_MIN)
		return 0;
	if (!g->found) {
		g->found = calloc((g->end - g->base) / 8 + 2, 1);
		if (!g->found)
			return -ENOMEM;
		find_called(g);
		if (g->entry >= g->start && g->entry < g->end)
			note_start(g, g->entry);
	}
	for (uint64_t at = start & -(uint64_t)ALIGNED; at < end && !r; at += ALIGNED)
		r = add_16(g, at, &gap);
	return r;
}

static int add_gaps(struct gap_search *g)
{
	uint64_t at = g->start;
	int r = 0;

	for (; g->next < g->known_count && g->known[g->next].start < g->end && !r; g->next++) {
		const struct elf_region *k = &g->known[g->next];

		if (k->start > at)
			r = add_gap(g, at, k->start);
		at = k->end > at ? k->end : at;
	}
	if (!r && at < g->end)
		r = add_gap(g, at, g->end);
	free(g->found);
	g->found = NULL;
	return r;
}

int elf_add_gaps(struct symbol_set *set, const struct elf_code *code)
{
	struct gap_search g = {.set = set, .entry = code->header.e_entry};

	if (code->header.e_machine != EM_X86_64 || code->header.e_type == ET_REL)
		return 0;
	int r = list_known(&g);
	for (size_t i = 0; i < code->region_count && !r; i++) {
		const struct elf_region *region = &code->regions[i];
		const Elf_Data *data = elf_data_at(code->elf, region->start);

		if (!data || !data->d_buf || data->d_size < region->end - region->start)
			continue;
		g.bytes = data->d_buf;
		g.start = region->start;
		g.end = region->end;
		g.base = g.start & -(uint64_t)ALIGNED;
		r = add_gaps(&g);
	}
	free(g.known);
	return r;
}

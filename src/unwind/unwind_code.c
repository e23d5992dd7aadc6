/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/unwind_code.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_MAX (1u << 20)
#define LEAST_GAP  16 /* bytes: what is smaller between two functions is padding */
/* A file with more code without tables is one that was built without them, and has frame pointers:
 * chromium's 226 MB. Of assembly libx265 has most, 12 MB. */
#define CODE_MAX (16u << 20)

/* Addresses in code. */
struct starts {
	const struct elf_code *code;
	uint64_t *list;
	size_t count, room;
};

static int add_start(struct starts *s, uint64_t address)
{
	if (s->count == STARTS_MAX || !elf_code_region(s->code, address))
		return 0;
	if (array_grow(&s->list, s->count, &s->room, sizeof(*s->list), 1024))
		return -ENOMEM;
	s->list[s->count++] = address;
	return 0;
}

static int add_symbols(struct starts *s, Elf_Data *data)
{
	GElf_Sym symbol;
	int r = 0;

	for (int i = 0; !r && gelf_getsym(data, i, &symbol); i++)
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
			r = add_start(s, symbol.st_value);
	return r;
}

/* Pointers to code, which tables of functions consist of. */
static int add_pointers(struct starts *s, Elf_Data *data)
{
	GElf_Rela rela;
	int r = 0;

	for (int i = 0; !r && gelf_getrela(data, i, &rela); i++)
		if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE ||
		    GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE)
			r = add_start(s, (uint64_t)rela.r_addend);
	return r;
}

static int find_starts(struct starts *symbols, struct starts *pointers)
{
	int r = add_start(symbols, symbols->code->header.e_entry);

	for (Elf_Scn *section = NULL; !r && (section = elf_nextscn(symbols->code->elf, section));) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM &&
		     header.sh_type != SHT_RELA) ||
		    !(data = elf_getdata(section, NULL)))
			continue;
		r = header.sh_type == SHT_RELA ? add_pointers(pointers, data)
					       : add_symbols(symbols, data);
	}
	array_sort(symbols->list, symbols->count, sizeof(*symbols->list), num_compare_u64);
	array_sort(pointers->list, pointers->count, sizeof(*pointers->list), num_compare_u64);
	return r;
}

/* What comes between functions, by its first byte: nop in its forms, int3, 0. */
static bool is_filler(const uint8_t *bytes, uint64_t size)
{
	return size < LEAST_GAP &&
	       (bytes[0] == 0x90 || bytes[0] == 0x66 || bytes[0] == 0xcc || bytes[0] == 0 ||
		(size > 1 && bytes[0] == 0x0f && bytes[1] == 0x1f));
}

struct gaps {
	struct starts symbols, pointers;
	struct code_frames *frames; /* made when the first is met */
	/* The bytes of the region at hand, and where they are. */
	const uint8_t *bytes;
	uint64_t start, end;
	code_frames_taker *f;
	void *arg;
};

static void enter_region(struct gaps *g, const struct elf_region *region)
{
	/* Once: libelf keeps a list of all that was asked for. */
	Elf_Data *data = elf_data_at(g->symbols.code->elf, region->start);
	uint64_t size = region->end - region->start;

	g->bytes = data ? data->d_buf : NULL;
	g->start = region->start;
	g->end = g->bytes ? g->start + (data->d_size < size ? data->d_size : size) : g->start;
}

static int take_gap(struct gaps *g, uint64_t start, uint64_t end)
{
	struct code_piece piece = {.address = start, .entry = g->symbols.code->header.e_entry};
	int r = 0;

	end = end < g->end ? end : g->end;
	if (start >= end)
		return 0;
	piece.bytes = g->bytes + (start - g->start);
	piece.size = end - start;
	if (is_filler(piece.bytes, piece.size))
		return 0;
	if (!g->frames) {
		r = code_frames_new(&g->frames, NULL);
		if (!r)
			r = find_starts(&g->symbols, &g->pointers);
	}
	piece.starts = g->symbols.list;
	piece.start_count = g->symbols.count;
	piece.pointed = g->pointers.list;
	piece.pointed_count = g->pointers.count;
	return r ? r : code_frames_each(g->frames, &piece, g->f, g->arg);
}

/* What of the region at hand is between the ranges from *next on. */
static int take_gaps(struct gaps *g, const struct elf_region *covered, size_t count, size_t *next)
{
	uint64_t at = g->start;
	int r = 0;

	while (*next < count && covered[*next].end <= at)
		++*next;
	for (; !r && *next < count && covered[*next].start < g->end; ++*next) {
		r = take_gap(g, at, covered[*next].start);
		at = covered[*next].end;
		if (at >= g->end)
			break;
	}
	return r ? r : take_gap(g, at, g->end);
}

static uint64_t bytes_without_table(const struct elf_code *code, const struct elf_region *covered,
				    size_t count)
{
	uint64_t all = 0, with = 0;

	for (size_t i = 0; i < code->region_count; i++)
		all += code->regions[i].end - code->regions[i].start;
	for (size_t i = 0; i < count; i++)
		with += covered[i].end - covered[i].start;
	return all > with ? all - with : 0;
}

int unwind_code_each(const struct elf_code *code, const struct elf_region *covered, size_t count,
		     code_frames_taker *f, void *arg, struct code_frames_counters *ret)
{
	struct gaps g = {.symbols.code = code, .pointers.code = code, .f = f, .arg = arg};
	uint64_t bytes = bytes_without_table(code, covered, count);
	size_t next = 0;
	int r = 0;

	if (bytes > CODE_MAX) {
		ret->skipped = bytes;
		return 0;
	}
	for (size_t i = 0; i < code->region_count && !r; i++) {
		enter_region(&g, &code->regions[i]);
		r = take_gaps(&g, covered, count, &next);
	}
	if (g.frames)
		code_frames_count(g.frames, ret);
	code_frames_free(g.frames);
	free(g.symbols.list);
	free(g.pointers.list);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "image/elf_symbols.h"

/*
 * The functions that Go's runtime knows, for its own stack traces: .gopclntab stays in a program
 *that was stripped. Facts: src/debug/gosym/pclntab.go and src/internal/abi/symtab.go of Go 1.18
 *to 1.24.
 *
 *	magic, 0 0, instruction quantum, bytes of a word; then words: count of functions, of files,
 *where the code begins, and offsets in the table: of names, of units, of files, of pc tables, of
 *functions
 *
 * At the last offset stand pairs of 32 bits, sorted: a function's offset in the code, and that of
 *its record from the pairs on; one more has where the last function ends. The record begins with
 *the function's offset again, then that of its name. Tables before Go 1.18 have another form and
 *are passed over.
 */

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

enum {
	WORD_COUNT,
	WORD_FILES,
	WORD_TEXT,
	WORD_NAMES,
	WORD_UNITS,
	WORD_FILE_NAMES,
	WORD_PCS,
	WORD_FUNCTIONS,
	WORDS
};

struct go_table {
	const uint8_t *data;
	size_t size;
	uint64_t words[WORDS];
};

/* 0 past the end: no offset or count of anything that is there. */
static uint32_t read_u32(const struct go_table *t, uint64_t offset)
{
	uint32_t value;

	if (offset > t->size || t->size - offset < sizeof(value))
		return 0;
	memcpy(&value, t->data + offset, sizeof(value));
	return le32toh(value);
}

static bool read_header(struct go_table *t)
{
	uint32_t magic = read_u32(t, 0);
	size_t word = t->size > 8 ? t->data[7] : 0;

	if ((magic != MAGIC_1_18 && magic != MAGIC_1_20) || t->data[4] || t->data[5] ||
	    (word != 4 && word != 8))
		return false;
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t at = 8 + i * word;

		t->words[i] = read_u32(t, at);
		if (word == 8)
			t->words[i] |= (uint64_t)read_u32(t, at + 4) << 32;
	}
	/* An address that a relocation would fill in is not there; each function has its pair. */
	return t->words[WORD_TEXT] && t->words[WORD_NAMES] < t->size &&
	       t->words[WORD_FUNCTIONS] < t->size &&
	       t->words[WORD_COUNT] <= (t->size - t->words[WORD_FUNCTIONS]) / 8;
}

/* NULL: there is none that ends within the table, or it is too long. */
static const char *find_name(const struct go_table *t, uint64_t record)
{
	uint64_t at = t->words[WORD_NAMES] + read_u32(t, record + 4);
	size_t room;

	if (at >= t->size)
		return NULL;
	room = t->size - at < SYMBOL_NAME_MAX ? t->size - at : SYMBOL_NAME_MAX;
	if (!memchr(t->data + at, 0, room))
		return NULL;
	return (const char *)t->data + at;
}

static int add_function(struct symbol_set *set, const struct elf_code *code,
			const struct go_table *t, uint64_t pair)
{
	uint32_t start = read_u32(t, pair), end = read_u32(t, pair + 8);
	uint64_t record = t->words[WORD_FUNCTIONS] + read_u32(t, pair + 4), address;
	const char *name = find_name(t, record);
	const struct elf_region *region;
	struct symbol_candidate c = {.rank = SYMBOL_LOCAL};

	if (__builtin_add_overflow(t->words[WORD_TEXT], start, &address) || end <= start ||
	    read_u32(t, record) != start || !name || !*name)
		return 0;
	region = elf_code_region(code, address);
	if (!region)
		return 0;
	c.start = address;
	c.size = end - start;
	c.limit = region->end;
	return symbol_set_add(set, &c, name);
}

int elf_add_go(struct symbol_set *set, const struct elf_code *code)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_find_section(code->elf, ".gopclntab", &sh);
	Elf_Data *data;
	struct go_table t = {0};
	int err = 0;

	if (!scn)
		scn = elf_find_section(code->elf, ".data.rel.ro.gopclntab", &sh);
	if (!scn || sh.sh_type == SHT_NOBITS || code->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	t.data = data->d_buf;
	t.size = data->d_size;
	if (!read_header(&t))
		return 0;
	for (uint64_t i = 0; i < t.words[WORD_COUNT] && !err; i++)
		err = add_function(set, code, &t, t.words[WORD_FUNCTIONS] + 8 * i);
	return err;
}

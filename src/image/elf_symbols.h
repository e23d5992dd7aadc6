/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_ELF_SYMBOLS_H
#define CULPRIT_IMAGE_ELF_SYMBOLS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/symbol_set.h"

/* The parts of image_symbols_read, for the files elf_*.c only. */

struct elf_region {
	uint64_t start, end;
};

/* An ELF file and where its code lies. */
struct elf_code {
	Elf *elf;
	GElf_Ehdr header;
	struct elf_region *regions; /* sorted by start */
	size_t region_count;
};

/*
 * Fills in header and regions: executable sections, without a section table executable segments, of
 * a relocatable file its .text alone. 0, -EBADMSG, -ENOMEM.
 */
int elf_code_init(struct elf_code *c, Elf *elf);
void elf_code_free(struct elf_code *c);
/* The region that has address, NULL when none does. */
const struct elf_region *elf_code_region(const struct elf_code *c, uint64_t address);
/* The first section of that name, NULL when there is none. */
Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *ret);
/*
 * The program header that *i counts, and *i moved on; false past the last. What cannot be read ends
 * them (their number is the file's to say, up to 2^32), as does the ELF_SEGMENTS_MAX-th: programs
 * have a dozen, and addresses are looked for among all of them.
 */
#define ELF_SEGMENTS_MAX 1024
bool elf_next_segment(Elf *elf, size_t *i, GElf_Phdr *ret);
/* Bytes of the file at a virtual address, up to the end of its segment. NULL when there are none.
 */
Elf_Data *elf_data_at(Elf *elf, uint64_t address);

/* .eh_frame by the section table, else by the segment that the unwinder uses, and its address. */
Elf_Data *elf_find_eh_frame(const struct elf_code *code, unsigned pointer_bytes, uint64_t *ret);
/* .debug_frame, decompressed if need be (which changes the code's Elf in memory); NULL: none. */
Elf_Data *elf_find_debug_frame(const struct elf_code *code);
/*
 * The words that relocations fill with the address of another image's function: the GOT. *ret is
 * sorted by address, to be freed; the names are the file's. 0, -ENOMEM.
 */
struct elf_got_name {
	uint64_t address;
	const char *name;
};
int elf_read_got(Elf *elf, struct elf_got_name **ret, size_t *ret_count);

/*
 * Each adds what it finds to the set: 0, or -ENOMEM or -EFBIG from it. What is malformed is passed
 * over. from may be another file with the same addresses as code.
 */
int elf_add_table(struct symbol_set *set, const struct elf_code *code, Elf *from, uint32_t type);
int elf_add_plt(struct symbol_set *set, const struct elf_code *code);
int elf_add_starts(struct symbol_set *set, const struct elf_code *code);
/* Function starts that only the code itself shows, where what the set has leaves gaps: after all
 * others. x86-64 only. */
int elf_add_gaps(struct symbol_set *set, const struct elf_code *code);

/*
 * The mini debug info (an xz-compressed ELF file) in .gnu_debugdata. *ret_data is its memory, to be
 * freed after elf_end(*ret). -ENOENT: there is none; -EBADMSG; -EFBIG past max_bytes.
 */
int elf_open_mini(Elf *elf, size_t max_bytes, Elf **ret, uint8_t **ret_data);

#endif

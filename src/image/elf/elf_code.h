/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_ELF_ELF_CODE_H
#define CULPRIT_IMAGE_ELF_ELF_CODE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where things lie in an ELF file. The file is not trusted; callers are workers. */

struct elf_region {
	uint64_t start, end;
};

/* An ELF file and where its code lies, or its data. */
struct elf_code {
	Elf *elf;
	GElf_Ehdr header;
	struct elf_region *regions; /* sorted by start */
	size_t region_count;
	bool data; /* regions are the sections of data */
};

/*
 * Fills in header and regions: executable sections or, without a section table, executable
 * segments; of a relocatable file its .text alone. 0, -EBADMSG, -ENOMEM.
 */
int elf_code_init(struct elf_code *c, Elf *elf);
/* The same with loaded sections that are not executable; a relocatable file's have no addresses. */
int elf_data_init(struct elf_code *c, Elf *elf);
void elf_code_free(struct elf_code *c);
/* The region that has address, NULL when none does. */
const struct elf_region *elf_code_region(const struct elf_code *c, uint64_t address);
/* The section that holds section names: libelf reads all of it to get one. False: there is none, or
 * it is larger than any real one. */
#define ELF_NAMES_MAX_BYTES (16u << 20)
bool elf_find_names(Elf *elf, size_t *ret);
/* The first section of that name, NULL when there is none. */
Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *ret);
/*
 * Gets program header *i and advances *i; false past the last. An unreadable one ends the list (the
 * file itself states how many there are, up to 2^32), as does the ELF_SEGMENTS_MAX-th: programs
 * have a dozen, and each address is looked for in all of them.
 */
#define ELF_SEGMENTS_MAX 1024
bool elf_next_segment(Elf *elf, size_t *i, GElf_Phdr *ret);
/* Bytes of the file at a virtual address, up to the end of its segment. NULL: there are none. */
Elf_Data *elf_data_at(Elf *elf, uint64_t address);
/* The same for callers that ask for many addresses: libelf remembers each piece it was asked for
 * and searches all of them the next time. */
const uint8_t *elf_bytes_at(Elf *elf, uint64_t address, size_t *ret_size);
/* The loaded segment that has file contents at address and all of these PF_ flags. */
bool elf_find_segment(Elf *elf, uint64_t address, uint32_t flags, GElf_Phdr *ret);

#endif

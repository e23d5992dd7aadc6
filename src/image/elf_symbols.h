/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_ELF_SYMBOLS_H
#define CULPRIT_IMAGE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/elf/elf_code.h"
#include "image/symbol_set.h"

/* The parts of image_symbols_read, for the files elf_*.c only. */

/*
 * The words that relocations fill with the address of another image's function: the GOT. *ret is
 * sorted by address, to be freed; the names belong to the file. 0, -ENOMEM.
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
/* Function starts that only the code shows, in the gaps of the set: call it last. x86-64 only. */
int elf_add_gaps(struct symbol_set *set, const struct elf_code *code);

/*
 * The mini debug info (an xz-compressed ELF file) in .gnu_debugdata. *ret_data is its memory, to be
 * freed after elf_end(*ret). -ENOENT: there is none; -EBADMSG; -EFBIG past max_bytes.
 */
int elf_open_mini(Elf *elf, size_t max_bytes, Elf **ret, uint8_t **ret_data);

#endif

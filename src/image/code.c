/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/code.h"

#include <errno.h>
#include <stdlib.h>
#include "image/elf/elf_code.h"
#include "util/io.h"

/* Where in the file the bytes at address are, and how many follow. */
static int find_code(Elf *elf, uint64_t address, uint64_t *ret_offset, uint64_t *ret_size)
{
	GElf_Ehdr header;
	GElf_Phdr ph;
	GElf_Shdr text;
	uint64_t start, offset, size;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return -EBADMSG;
	if (header.e_type == ET_REL) {
		if (!elf_find_section(elf, ".text", &text) || text.sh_type == SHT_NOBITS ||
		    address >= text.sh_size)
			return -ERANGE;
		start = 0, offset = text.sh_offset, size = text.sh_size;
	} else {
		if (!elf_find_segment(elf, address, PF_X, &ph))
			return -ERANGE;
		start = ph.p_vaddr, offset = ph.p_offset, size = ph.p_filesz;
	}
	if (offset > INT64_MAX - size)
		return -EBADMSG;
	*ret_offset = offset + (address - start);
	*ret_size = size - (address - start);
	return 0;
}

int image_code_read(int fd, uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag)
{
	uint64_t offset = 0, most = 0;

	elf_version(EV_CURRENT);
	/* To map all of a large file for its headers takes longer than to read them. */
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	int r = find_code(elf, address, &offset, &most);
	elf_end(elf);
	if (r == -ERANGE)
		return diag_fail(diag, ERANGE, "the file has no code at 0x%llx",
				 (unsigned long long)address);
	if (r < 0)
		return diag_fail(diag, -r, "broken ELF headers");
	if (size > most)
		size = most;
	if (size > IMAGE_CODE_MAX_BYTES)
		size = IMAGE_CODE_MAX_BYTES;
	uint8_t *data = malloc(size + 1);
	if (!data)
		return diag_fail(diag, ENOMEM, "out of memory for %zu bytes of code", size);
	ssize_t n = io_pread(fd, data, size, offset);
	if (n <= 0) {
		free(data);
		return diag_fail(diag, n ? (int)-n : ERANGE,
				 "the file ends before the code at 0x%llx",
				 (unsigned long long)address);
	}
	*ret_data = data;
	*ret_size = (size_t)n;
	return 0;
}

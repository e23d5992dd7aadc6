/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/code.h"
#include "image/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/io.h"
#include "util/search.h"

Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, ret))
			continue;
		const char *have = elf_strptr(elf, names, ret->sh_name);
		if (have && strcmp(have, name) == 0)
			return scn;
	}
	return NULL;
}

static int add_region(struct elf_code *c, size_t *room, uint64_t start, uint64_t size)
{
	if (size == 0 || size > UINT64_MAX - start)
		return 0;
	if (array_grow(&c->regions, c->region_count, room, sizeof(*c->regions), 16))
		return -ENOMEM;
	c->regions[c->region_count++] = (struct elf_region){start, start + size};
	return 0;
}

static int add_sections(struct elf_code *c, size_t *room)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	int err = 0;
	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(c->elf, scn));) {
		GElf_Shdr sh;
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & code) == code)
			err = add_region(c, room, sh.sh_addr, sh.sh_size);
	}
	return err;
}

bool elf_next_segment(Elf *elf, size_t *i, GElf_Phdr *ret)
{
	size_t count;
	return elf_getphdrnum(elf, &count) == 0 && *i < count && *i < ELF_SEGMENTS_MAX &&
	       gelf_getphdr(elf, (int)(*i)++, ret);
}

static int add_segments(struct elf_code *c, size_t *room)
{
	GElf_Phdr ph;
	int err = 0;
	for (size_t i = 0; !err && elf_next_segment(c->elf, &i, &ph);)
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			err = add_region(c, room, ph.p_vaddr, ph.p_memsz);
	return err;
}

static int compare_regions(const void *pa, const void *pb)
{
	const struct elf_region *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

int elf_code_init(struct elf_code *c, Elf *elf)
{
	GElf_Shdr text;
	size_t room = 0;
	*c = (struct elf_code){.elf = elf};
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &c->header))
		return -EBADMSG;
	int err = 0;
	if (c->header.e_type == ET_REL) {
		if (elf_find_section(elf, ".text", &text))
			err = add_region(c, &room, 0, text.sh_size);
	} else {
		err = add_sections(c, &room);
		if (!err && c->region_count == 0)
			err = add_segments(c, &room);
	}
	if (c->region_count)
		qsort(c->regions, c->region_count, sizeof(*c->regions), compare_regions);
	if (err < 0)
		elf_code_free(c);
	return err;
}

void elf_code_free(struct elf_code *c)
{
	free(c->regions);
	c->regions = NULL;
	c->region_count = 0;
}

const struct elf_region *elf_code_region(const struct elf_code *c, uint64_t address)
{
	size_t low = SEARCH_FIRST(c->region_count, i, c->regions[i].start > address);

	return low && address < c->regions[low - 1].end ? &c->regions[low - 1] : NULL;
}

/* The segment whose file bytes have address; flags: those it must have. */
static bool find_segment(Elf *elf, uint64_t address, uint32_t flags, GElf_Phdr *ret)
{
	for (size_t i = 0; elf_next_segment(elf, &i, ret);)
		if (ret->p_type == PT_LOAD && (ret->p_flags & flags) == flags &&
		    address >= ret->p_vaddr && address - ret->p_vaddr < ret->p_filesz)
			return true;
	return false;
}

Elf_Data *elf_data_at(Elf *elf, uint64_t address)
{
	GElf_Phdr ph;
	if (!find_segment(elf, address, 0, &ph))
		return NULL;
	uint64_t skip = address - ph.p_vaddr;
	if (ph.p_offset > INT64_MAX - skip)
		return NULL;
	/* Fails by itself on what lies outside of the file. */
	return elf_getdata_rawchunk(elf, (int64_t)(ph.p_offset + skip), ph.p_filesz - skip,
				    ELF_T_BYTE);
}

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
		if (!find_segment(elf, address, PF_X, &ph))
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
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	int err = find_code(elf, address, &offset, &most);
	elf_end(elf);
	if (err == -ERANGE)
		return diag_fail(diag, ERANGE, "the file has no code at 0x%llx",
				 (unsigned long long)address);
	if (err < 0)
		return diag_fail(diag, -err, "broken ELF headers");
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf/elf_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/search.h"
#include "util/num.h"

bool elf_find_names(Elf *elf, size_t *ret)
{
	Elf_Scn *scn;
	GElf_Shdr sh;

	return elf_getshdrstrndx(elf, ret) == 0 && (scn = elf_getscn(elf, *ret)) &&
	       gelf_getshdr(scn, &sh) && sh.sh_size <= ELF_NAMES_MAX_BYTES;
}

Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	size_t names;

	if (!elf_find_names(elf, &names))
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
	/* Addresses of thread-local data are not the image's. */
	const uint64_t kind = SHF_ALLOC | SHF_EXECINSTR | (c->data ? SHF_TLS : 0);
	const uint64_t wanted = c->data ? SHF_ALLOC : kind;
	int r = 0;

	for (Elf_Scn *scn = NULL; !r && (scn = elf_nextscn(c->elf, scn));) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & kind) == wanted)
			r = add_region(c, room, sh.sh_addr, sh.sh_size);
	}
	return r;
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
	int r = 0;

	for (size_t i = 0; !r && elf_next_segment(c->elf, &i, &ph);)
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			r = add_region(c, room, ph.p_vaddr, ph.p_memsz);
	return r;
}

static int init(struct elf_code *c)
{
	GElf_Shdr text;
	size_t room = 0;

	if (elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &c->header))
		return -EBADMSG;
	int r = 0;
	if (c->header.e_type == ET_REL) {
		if (!c->data && elf_find_section(c->elf, ".text", &text))
			r = add_region(c, &room, 0, text.sh_size);
	} else {
		r = add_sections(c, &room);
		if (!r && c->region_count == 0 && !c->data)
			r = add_segments(c, &room);
	}
	array_sort(c->regions, c->region_count, sizeof(*c->regions), num_compare_u64);
	if (r < 0)
		elf_code_free(c);
	return r;
}

int elf_code_init(struct elf_code *c, Elf *elf)
{
	*c = (struct elf_code){.elf = elf};
	return init(c);
}

int elf_data_init(struct elf_code *c, Elf *elf)
{
	*c = (struct elf_code){.elf = elf, .data = true};
	return init(c);
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

bool elf_find_segment(Elf *elf, uint64_t address, uint32_t flags, GElf_Phdr *ret)
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

	if (!elf_find_segment(elf, address, 0, &ph))
		return NULL;
	uint64_t skip = address - ph.p_vaddr;
	if (ph.p_offset > INT64_MAX - skip)
		return NULL;
	/* Fails by itself on what lies outside of the file. */
	return elf_getdata_rawchunk(elf, (int64_t)(ph.p_offset + skip), ph.p_filesz - skip,
				    ELF_T_BYTE);
}

const uint8_t *elf_bytes_at(Elf *elf, uint64_t address, size_t *ret_size)
{
	GElf_Phdr ph;

	if (!elf_find_segment(elf, address, 0, &ph) || ph.p_offset > INT64_MAX)
		return NULL;
	const Elf_Data *all =
		elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
	if (!all || !all->d_buf)
		return NULL;
	*ret_size = ph.p_filesz - (address - ph.p_vaddr);
	return (const uint8_t *)all->d_buf + (address - ph.p_vaddr);
}

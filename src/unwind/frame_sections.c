/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/frame_sections.h"

/* By the section table, else by the segment that the unwinder uses, and its address. */
static Elf_Data *find_eh_frame(const struct elf_code *code, unsigned pointer_bytes, uint64_t *ret)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_find_section(code->elf, ".eh_frame", &sh);

	if (scn && sh.sh_type != SHT_NOBITS) {
		*ret = sh.sh_addr;
		return elf_rawdata(scn, NULL);
	}
	GElf_Phdr ph;
	for (size_t i = 0; elf_next_segment(code->elf, &i, &ph);) {
		if (ph.p_type != PT_GNU_EH_FRAME)
			continue;
		Elf_Data *d = elf_data_at(code->elf, ph.p_vaddr);
		if (d && ehframe_header(d->d_buf, d->d_size, ph.p_vaddr, pointer_bytes, ret) == 0)
			return elf_data_at(code->elf, *ret);
	}
	return NULL;
}

int elf_each_frame(const struct elf_code *code, unsigned pointer_bytes,
		   int (*f)(void *arg, const struct ehframe_entry *entry), void *arg)
{
	uint64_t address = 0;
	Elf_Data *data = find_eh_frame(code, pointer_bytes, &address);

	if (!data || !data->d_buf)
		return 0;
	return ehframe_each(data->d_buf, data->d_size, address, pointer_bytes, f, arg);
}

Elf_Data *elf_find_debug_frame(const struct elf_code *code)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_find_section(code->elf, ".debug_frame", &sh);

	if (!scn || sh.sh_type == SHT_NOBITS)
		return NULL;
	if (sh.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return NULL;
	return elf_rawdata(scn, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Slots of the procedure linkage table are "name@plt". The name comes from the relocation of the
 * word through which the slot jumps, so neither the order of slots nor the kind of table (.plt,
 * .plt.sec, .plt.got) matters. What is not such a slot belongs to a region named "[plt]".
 */
struct got_names {
	struct elf_got_name *list;
	size_t count, room;
};

static int add_got_name(struct got_names *g, uint64_t address, const char *name)
{
	if (array_grow(&g->list, g->count, &g->room, sizeof(*g->list), 64))
		return -ENOMEM;
	g->list[g->count++] = (struct elf_got_name){address, name};
	return 0;
}

/* The relocations of one section that put a function's address into a word. */
static int read_relocations(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct got_names *g)
{
	GElf_Shdr symbols_sh;
	Elf_Scn *symbols_scn = elf_getscn(elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !sh->sh_entsize || !symbols_scn || !gelf_getshdr(symbols_scn, &symbols_sh) ||
	    symbols_sh.sh_type != SHT_DYNSYM)
		return 0;
	Elf_Data *symbols = elf_getdata(symbols_scn, NULL);
	size_t count = symbols ? data->d_size / sh->sh_entsize : 0;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Rela rel;
		GElf_Sym sym;

		if (!gelf_getrela(data, (int)i, &rel))
			break;
		unsigned type = (unsigned)GELF_R_TYPE(rel.r_info);
		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(rel.r_info), &sym))
			continue;
		const char *name = elf_strptr(elf, symbols_sh.sh_link, sym.st_name);
		int r = name && *name ? add_got_name(g, rel.r_offset, name) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* The target of the first "jmp *disp32(%rip)" in a slot, which is ff 25 and the displacement. */
static bool find_jump(const uint8_t *slot, size_t size, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		int32_t displacement;

		if (slot[i] != 0xff || slot[i + 1] != 0x25)
			continue;
		memcpy(&displacement, slot + i + 2, sizeof(displacement));
		*ret = address + i + 6 + (uint64_t)(int64_t)displacement;
		return true;
	}
	return false;
}

static int add_slots(struct symbol_set *set, const GElf_Shdr *sh, const Elf_Data *data,
		     const struct got_names *g)
{
	const size_t slot = sh->sh_entsize == 8 ? 8 : 16;
	char name[SYMBOL_NAME_MAX];

	for (size_t at = 0; at + slot <= data->d_size; at += slot) {
		struct elf_got_name key;

		if (!find_jump((uint8_t *)data->d_buf + at, slot, sh->sh_addr + at, &key.address))
			continue;
		const struct elf_got_name *found =
			bsearch(&key, g->list, g->count, sizeof(key), num_compare_u64);
		if (!found)
			continue;
		snprintf(name, sizeof(name), "%s@plt", found->name);
		struct symbol_candidate c = {.start = sh->sh_addr + at,
					     .size = slot,
					     .limit = sh->sh_addr + sh->sh_size,
					     .rank = SYMBOL_LOCAL};
		int r = symbol_set_add(set, &c, name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_plt_section(struct symbol_set *set, const struct elf_code *code, const char *section,
			   const struct got_names *g)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_find_section(code->elf, section, &sh);

	if (!scn || sh.sh_type == SHT_NOBITS || !elf_code_region(code, sh.sh_addr) ||
	    sh.sh_size > UINT64_MAX - sh.sh_addr)
		return 0;
	struct symbol_candidate all = {.start = sh.sh_addr,
				       .size = sh.sh_size,
				       .limit = sh.sh_addr + sh.sh_size,
				       .rank = SYMBOL_SECTION};
	int r = symbol_set_add(set, &all, "[plt]");
	Elf_Data *data = elf_rawdata(scn, NULL);
	if (!r && data && data->d_buf && g->count)
		r = add_slots(set, &sh, data, g);
	return r;
}

int elf_read_got(Elf *elf, struct elf_got_name **ret, size_t *ret_count)
{
	struct got_names g = {0};
	Elf_Scn *scn = NULL;
	int r = 0;

	while (!r && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
			r = read_relocations(elf, scn, &sh, &g);
	}
	if (r < 0) {
		free(g.list);
		return r;
	}
	array_sort(g.list, g.count, sizeof(*g.list), num_compare_u64);
	*ret = g.list;
	*ret_count = g.count;
	return 0;
}

int elf_add_plt(struct symbol_set *set, const struct elf_code *code)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct got_names g = {0};
	int r = 0;

	if (code->header.e_type == ET_REL)
		return 0;
	if (code->header.e_machine == EM_X86_64)
		r = elf_read_got(code->elf, &g.list, &g.count);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !r; i++)
		r = add_plt_section(set, code, sections[i], &g);
	free(g.list);
	return r;
}

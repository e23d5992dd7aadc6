/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/python.h"

#include <errno.h>
#include <string.h>
#include "image/elf_symbols.h"

struct wanted {
	const char *name;
	uint64_t address; /* 0: not found */
};

/* Those of the wanted objects that a table of symbols has. */
static void look_up(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct wanted *wanted,
		    size_t count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		for (size_t k = 0; name && k < count; k++)
			if (strcmp(name, wanted[k].name) == 0)
				wanted[k].address = symbol.st_value;
	}
}

static int read_elf(Elf *elf, struct image_python *ret)
{
	struct wanted wanted[] = {{.name = "_PyRuntime"}, {.name = "Py_Version"}};
	GElf_Shdr header;
	Elf_Data *data;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
		if (gelf_getshdr(s, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			look_up(elf, s, &header, wanted, 2);
	if (!wanted[0].address)
		return -ENOENT;
	*ret = (struct image_python){.runtime = wanted[0].address};
	if (!wanted[1].address)
		return 0; /* before 3.11 */
	data = elf_data_at(elf, wanted[1].address);
	if (!data || !data->d_buf || data->d_size < sizeof(ret->version))
		return -EBADMSG;
	memcpy(&ret->version, data->d_buf, sizeof(ret->version));
	return 0;
}

int image_python_read(int fd, struct image_python *ret, struct diag *diag)
{
	Elf *elf;
	int r;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	r = elf && elf_kind(elf) == ELF_K_ELF ? read_elf(elf, ret) : -EBADMSG;
	elf_end(elf);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "there is no CPython from 3.7 on in it");
	return r ? diag_fail(diag, -r, "not an ELF file, or its symbols are broken") : 0;
}

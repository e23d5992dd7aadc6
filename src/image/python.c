/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/python.h"

#include <errno.h>
#include <string.h>
#include "image/elf/elf_code.h"

/* What is looked for. Functions say by being there which version it is. */
enum {
	RUNTIME,
	VERSION,
	SINCE_3_8,
	SINCE_3_9,
	SINCE_3_10,
	TRACED, /* each object has two words more at its beginning */
	EVALUATOR,
	EVALUATOR_COLD, /* only where symbols were not stripped */
	WANTED,
};

static const char *const names[WANTED] = {
	[RUNTIME] = "_PyRuntime",
	[VERSION] = "Py_Version",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[SINCE_3_9] = "PyFrame_GetBack",
	[SINCE_3_10] = "PyIter_Send",
	[TRACED] = "_Py_AddToAllObjects",
	[EVALUATOR] = "_PyEval_EvalFrameDefault",
	[EVALUATOR_COLD] = "_PyEval_EvalFrameDefault.cold",
};

struct found {
	uint64_t address, size; /* 0: not found */
};

/* Those that a table of symbols has. */
static void look_up(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct found *found)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		int type = GELF_ST_TYPE(symbol.st_info);
		const char *name;

		if ((type != STT_OBJECT && type != STT_FUNC) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		for (size_t k = 0; name && k < WANTED; k++)
			if (strcmp(name, names[k]) == 0 &&
			    (type == STT_OBJECT) == (k == RUNTIME || k == VERSION))
				found[k] = (struct found){symbol.st_value, symbol.st_size};
	}
}

/* The first words of _Py_DebugOffsets, and how many are looked at. */
enum { DEBUG_VERSION = 1, DEBUG_FREE_THREADED = 2, DEBUG_WORDS = 71 };

#define COOKIE	     "xdebugpy"
#define OFFSET_MAX   4096 /* no structure of these is as large up to there */
#define WITH_OFFSETS 0x030d

static bool take_offsets(const uint64_t *words, struct image_python_offsets *ret)
{
	bool make_sense = true;

#define OFFSET(name, number)                 \
	ret->name = (uint16_t)words[number]; \
	make_sense &= words[number] < OFFSET_MAX;
	IMAGE_PYTHON_OFFSETS(OFFSET)
#undef OFFSET
	return make_sense;
}

/* What the interpreter itself says, if it is of the version that says so in this form. */
static void read_offsets(Elf *elf, struct image_python *p)
{
	Elf_Data *data = elf_data_at(elf, p->runtime);
	struct image_python_offsets offsets = {0};
	uint64_t words[DEBUG_WORDS];

	if (p->version >> 16 != WITH_OFFSETS || !data || !data->d_buf ||
	    data->d_size < sizeof(words))
		return;
	memcpy(words, data->d_buf, sizeof(words));
	if (memcmp(words, COOKIE, sizeof(words[0])) != 0 || words[DEBUG_VERSION] != p->version)
		return;
	p->is_odd |= words[DEBUG_FREE_THREADED] != 0;
	if (!take_offsets(words, &offsets))
		return;
	offsets.are_there = 1;
	p->offsets = offsets;
}

static int read_version(Elf *elf, const struct found *found, uint32_t *ret)
{
	Elf_Data *data;

	if (!found[VERSION].address) {
		*ret = found[SINCE_3_10].address  ? 0x030a00f0
		       : found[SINCE_3_9].address ? 0x030900f0
		       : found[SINCE_3_8].address ? 0x030800f0
						  : 0x030700f0;
		return 0;
	}
	data = elf_data_at(elf, found[VERSION].address);
	if (!data || !data->d_buf || data->d_size < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, data->d_buf, sizeof(*ret));
	return 0;
}

static int read_elf(Elf *elf, struct image_python *ret)
{
	struct found found[WANTED] = {0};
	struct image_python p = {0};
	GElf_Shdr header;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
		if (gelf_getshdr(s, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			look_up(elf, s, &header, found);
	if (!found[RUNTIME].address)
		return -ENOENT;
	p.runtime = found[RUNTIME].address;
	p.is_odd = found[TRACED].address != 0;
	for (unsigned i = 0; i < IMAGE_PYTHON_RANGES; i++) {
		p.evaluator[i].begin = found[EVALUATOR + i].address;
		p.evaluator[i].end = found[EVALUATOR + i].address + found[EVALUATOR + i].size;
	}
	int r = read_version(elf, found, &p.version);
	if (r)
		return r;
	read_offsets(elf, &p);
	*ret = p;
	return 0;
}

int image_python_read(int fd, struct image_python *ret, struct diag *diag)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = elf && elf_kind(elf) == ELF_K_ELF ? read_elf(elf, ret) : -EBADMSG;
	elf_end(elf);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "there is no CPython from 3.7 on in it");
	return r ? diag_fail(diag, -r, "not an ELF file, or its symbols are broken") : 0;
}

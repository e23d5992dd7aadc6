/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include "unwind/frame_sections.h"

/* The most that mini debug info may decompress to, and the memory for doing so. */
#define MINI_MAX_BYTES	 (256u << 20)
#define MINI_LZMA_MEMORY (256u << 20)

/* $a, $d, $t, $x of ARM, perhaps with ".suffix": they mark code and data, they name nothing. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (name[2] == 0 || name[2] == '.');
}

/* The rank of a symbol that may be a function's, or data's, -1 when it is something else. */
static int symbol_rank(const struct elf_code *code, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), binding = GELF_ST_BIND(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return -1;
	if (code->data ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC)
		return binding == STB_LOCAL ? SYMBOL_LOCAL : SYMBOL_GLOBAL;
	if (type != STT_NOTYPE || is_mapping_symbol(name) || strncmp(name, ".L", 2) == 0)
		return -1;
	return SYMBOL_LABEL;
}

/* Old tools write "name@@VERSION" into .symtab. */
static void cut_version(char *copy, size_t room, const char *name)
{
	size_t size = strcspn(name, "@");

	if (size >= room)
		size = room - 1;
	memcpy(copy, name, size);
	copy[size] = 0;
}

static int add_symbol(struct symbol_set *set, const struct elf_code *code, const GElf_Sym *sym,
		      const char *name)
{
	char unversioned[1024];
	int rank = symbol_rank(code, sym, name);
	const struct elf_region *region = elf_code_region(code, sym->st_value);

	if (rank < 0 || !region || !name[0])
		return 0;
	if (strnlen(name, sizeof(unversioned)) < sizeof(unversioned) && strchr(name + 1, '@')) {
		cut_version(unversioned, sizeof(unversioned), name);
		name = unversioned;
	}
	struct symbol_candidate c = {
		.start = sym->st_value,
		.size = sym->st_size,
		.limit = region->end,
		.rank = (uint8_t)rank,
	};
	return symbol_set_add(set, &c, name);
}

int elf_add_table(struct symbol_set *set, const struct elf_code *code, Elf *from, uint32_t type)
{
	GElf_Shdr sh, text;
	Elf_Scn *scn = NULL;
	size_t text_index = SIZE_MAX;

	if (code->header.e_type == ET_REL) {
		Elf_Scn *text_scn = elf_find_section(from, ".text", &text);

		text_index = text_scn ? elf_ndxscn(text_scn) : SHN_UNDEF;
	}
	while ((scn = elf_nextscn(from, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || sh.sh_entsize == 0)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		size_t count = data ? data->d_size / sh.sh_entsize : 0;
		for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
			GElf_Sym sym;

			if (!gelf_getsym(data, (int)i, &sym))
				break;
			if (text_index != SIZE_MAX && sym.st_shndx != text_index)
				continue;
			const char *name = elf_strptr(from, sh.sh_link, sym.st_name);
			int r = name ? add_symbol(set, code, &sym, name) : 0;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

struct start_sink {
	struct symbol_set *set;
	const struct elf_code *code;
};

static int add_start(void *arg, const struct ehframe_entry *e)
{
	struct start_sink *sink = arg;
	const struct elf_region *region = elf_code_region(sink->code, e->start);

	if (!region)
		return 0;
	struct symbol_candidate c = {
		.start = e->start, .size = e->size, .limit = region->end, .rank = SYMBOL_START};
	return symbol_set_add(sink->set, &c, NULL);
}

int elf_add_starts(struct symbol_set *set, const struct elf_code *code)
{
	struct start_sink sink = {set, code};
	unsigned pointer_bytes = code->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;

	/* A relocatable file's starts are not yet filled in. */
	if (code->header.e_type == ET_REL || code->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	int r = elf_each_frame(code, pointer_bytes, add_start, &sink);
	return r == -EBADMSG ? 0 : r;
}

/* Decompresses one .xz stream; the result is malloc'ed. */
static int decompress(const uint8_t *in, size_t in_size, size_t max_bytes, uint8_t **ret_data,
		      size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *data = NULL;
	size_t room = 0;
	int r = 0;

	if (lzma_stream_decoder(&stream, MINI_LZMA_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = in;
	stream.avail_in = in_size;
	for (lzma_ret status = LZMA_OK; status == LZMA_OK && !r;) {
		if (stream.avail_out == 0) {
			room = room ? room * 2 : 1 << 20;
			uint8_t *more = room / 2 < max_bytes ? realloc(data, room) : NULL;
			if (!more) {
				r = room / 2 < max_bytes ? -ENOMEM : -EFBIG;
				break;
			}
			data = more;
			stream.next_out = data + stream.total_out;
			stream.avail_out = room - stream.total_out;
		}
		status = lzma_code(&stream, LZMA_FINISH);
		if (status != LZMA_OK && status != LZMA_STREAM_END)
			r = -EBADMSG;
	}
	lzma_end(&stream);
	if (r < 0) {
		free(data);
		return r;
	}
	*ret_data = data;
	*ret_size = stream.total_out;
	return 0;
}

int elf_open_mini(Elf *elf, size_t max_bytes, Elf **ret, uint8_t **ret_data)
{
	GElf_Shdr sh;
	size_t size;
	Elf_Scn *scn = elf_find_section(elf, ".gnu_debugdata", &sh);
	Elf_Data *packed = scn && sh.sh_type != SHT_NOBITS ? elf_rawdata(scn, NULL) : NULL;

	if (!packed || !packed->d_buf)
		return -ENOENT;
	if (max_bytes > MINI_MAX_BYTES)
		max_bytes = MINI_MAX_BYTES;
	uint8_t *data = NULL;
	int r = decompress(packed->d_buf, packed->d_size, max_bytes, &data, &size);
	if (r < 0)
		return r;
	Elf *mini = elf_memory((char *)data, size);
	if (!mini || elf_kind(mini) != ELF_K_ELF) {
		elf_end(mini);
		free(data);
		return -EBADMSG;
	}
	*ret = mini;
	*ret_data = data;
	return 0;
}

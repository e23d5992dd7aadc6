/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"
#include "unwind/go_table.h"

#include <errno.h>
#include <stdlib.h>

static int add_function(struct symbol_set *set, const struct elf_code *code,
			const struct go_table *t, const struct go_function *f)
{
	const char *name = go_table_name(t, f, SYMBOL_NAME_MAX);
	const struct elf_region *region = elf_code_region(code, f->start);
	struct symbol_candidate c = {.rank = SYMBOL_LOCAL};

	if (!name || !*name || !region)
		return 0;
	c.start = f->start;
	c.size = f->end - f->start;
	c.limit = region->end;
	return symbol_set_add(set, &c, name);
}

/* Functions by Go's own table, with their names. */
static int add_go(struct symbol_set *set, const struct elf_code *code)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_find_section(code->elf, GO_TABLE_SECTION, &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	struct go_table t;
	struct go_function f;
	int r = 0;

	if (!data || !data->d_buf || go_table_open(data->d_buf, data->d_size, &t))
		return 0;
	for (uint64_t i = 0; i < t.count && !r; i++)
		if (go_table_function(&t, i, &f))
			r = add_function(set, code, &t, &f);
	return r;
}

/* Adds a file's symbol table; *source becomes name if that gave anything and none is set yet. */
static int add_source(struct symbol_set *set, const struct elf_code *code, Elf *from, uint32_t type,
		      const char *name, const char **source)
{
	size_t before = set->count;
	int r = from ? elf_add_table(set, code, from, type) : 0;

	if (set->count > before && !*source)
		*source = name;
	return r;
}

static int add_all(struct symbol_set *set, const struct elf_code *code, Elf *debug,
		   const char **source)
{
	Elf *mini = NULL;
	uint8_t *mini_data = NULL;
	int r = add_source(set, code, debug, SHT_SYMTAB, "debug file", source);

	if (!r)
		r = add_source(set, code, code->elf, SHT_SYMTAB, "symtab", source);
	if (!r && !*source && elf_open_mini(code->elf, set->max_bytes, &mini, &mini_data) == 0) {
		r = add_source(set, code, mini, SHT_SYMTAB, "mini debug info", source);
		elf_end(mini);
		free(mini_data);
	}
	if (!r && !*source) {
		size_t before = set->count;

		r = add_go(set, code);
		if (set->count > before)
			*source = "gopclntab";
	}
	if (!r)
		r = add_source(set, code, code->elf, SHT_DYNSYM, "dynsym", source);
	if (!r)
		r = elf_add_plt(set, code);
	if (!r)
		r = elf_add_starts(set, code);
	if (!*source && set->count)
		*source = "function starts";
	if (!r)
		r = elf_add_gaps(set, code);
	if (!*source)
		*source = set->count ? "code" : "none";
	return r;
}

/* Of data symbol tables alone tell. */
static int add_data(struct symbol_set *set, const struct elf_code *data, Elf *debug,
		    const char **source)
{
	int r = add_source(set, data, debug, SHT_SYMTAB, "debug file", source);

	if (!r)
		r = add_source(set, data, data->elf, SHT_SYMTAB, "symtab", source);
	return r ? r : add_source(set, data, data->elf, SHT_DYNSYM, "dynsym", source);
}

static int read_open(Elf *elf, Elf *debug, bool data, size_t max_bytes, struct image_symbols **ret,
		     struct diag *diag)
{
	struct elf_code code;
	struct symbol_set set;
	const char *source = NULL;
	int r = data ? elf_data_init(&code, elf) : elf_code_init(&code, elf);

	if (r == -EBADMSG)
		return diag_fail(diag, EBADMSG, "not an ELF file");
	if (r < 0)
		return diag_fail(diag, -r, "out of memory while reading an ELF file");
	r = symbol_set_init(&set, max_bytes);
	if (!r)
		r = (data ? add_data : add_all)(&set, &code, debug, &source);
	if (!r && set.count == 0)
		r = -ENOENT;
	if (!r)
		r = symbol_set_finish(&set, source, ret);
	symbol_set_free(&set);
	elf_code_free(&code);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT,
				 "the file has neither symbols nor .eh_frame, nor code that shows "
				 "where functions start");
	if (r == -EFBIG)
		return diag_fail(diag, EFBIG, "the file has more than %zu MB of symbols",
				 max_bytes >> 20);
	if (r < 0)
		return diag_fail(diag, -r, "out of memory while reading symbols");
	return 0;
}

static int read_files(int fd, int debug_fd, bool data, size_t max_bytes, struct image_symbols **ret,
		      struct diag *diag)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	/* A debug file that is broken costs only itself. */
	Elf *debug = debug_fd >= 0 ? elf_begin(debug_fd, ELF_C_READ_MMAP, NULL) : NULL;
	int r = read_open(elf, debug, data, max_bytes, ret, diag);
	elf_end(debug);
	elf_end(elf);
	return r;
}

int image_symbols_read(int fd, int debug_fd, size_t max_bytes, struct image_symbols **ret,
		       struct diag *diag)
{
	return read_files(fd, debug_fd, false, max_bytes, ret, diag);
}

int image_data_symbols_read(int fd, int debug_fd, size_t max_bytes, struct image_symbols **ret,
			    struct diag *diag)
{
	return read_files(fd, debug_fd, true, max_bytes, ret, diag);
}

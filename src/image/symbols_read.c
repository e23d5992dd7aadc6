/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"
#include "image/go_table.h"

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
	int err = 0;

	if (!data || !data->d_buf || go_table_open(data->d_buf, data->d_size, &t))
		return 0;
	for (uint64_t i = 0; i < t.count && !err; i++)
		if (go_table_function(&t, i, &f))
			err = add_function(set, code, &t, &f);
	return err;
}

/* Adds a file's symbol table; *source becomes name if that gave anything and none is set yet. */
static int add_source(struct symbol_set *set, const struct elf_code *code, Elf *from, uint32_t type,
		      const char *name, const char **source)
{
	size_t before = set->count;
	int err = from ? elf_add_table(set, code, from, type) : 0;
	if (set->count > before && !*source)
		*source = name;
	return err;
}

static int add_all(struct symbol_set *set, const struct elf_code *code, Elf *debug,
		   const char **source)
{
	Elf *mini = NULL;
	uint8_t *mini_data = NULL;
	int err = add_source(set, code, debug, SHT_SYMTAB, "debug file", source);
	if (!err)
		err = add_source(set, code, code->elf, SHT_SYMTAB, "symtab", source);
	if (!err && !*source && elf_open_mini(code->elf, set->max_bytes, &mini, &mini_data) == 0) {
		err = add_source(set, code, mini, SHT_SYMTAB, "mini debug info", source);
		elf_end(mini);
		free(mini_data);
	}
	if (!err && !*source) {
		size_t before = set->count;
		err = add_go(set, code);
		if (set->count > before)
			*source = "gopclntab";
	}
	if (!err)
		err = add_source(set, code, code->elf, SHT_DYNSYM, "dynsym", source);
	if (!err)
		err = elf_add_plt(set, code);
	if (!err)
		err = elf_add_starts(set, code);
	if (!*source && set->count)
		*source = "function starts";
	if (!err)
		err = elf_add_gaps(set, code);
	if (!*source)
		*source = set->count ? "code" : "none";
	return err;
}

static int read_open(Elf *elf, Elf *debug, size_t max_bytes, struct image_symbols **ret,
		     struct diag *diag)
{
	struct elf_code code;
	struct symbol_set set;
	const char *source = NULL;
	int err = elf_code_init(&code, elf);
	if (err == -EBADMSG)
		return diag_fail(diag, EBADMSG, "not an ELF file");
	if (err < 0)
		return diag_fail(diag, -err, "out of memory while reading an ELF file");
	err = symbol_set_init(&set, max_bytes);
	if (!err)
		err = add_all(&set, &code, debug, &source);
	if (!err && set.count == 0)
		err = -ENOENT;
	if (!err)
		err = symbol_set_finish(&set, source, ret);
	symbol_set_free(&set);
	elf_code_free(&code);
	if (err == -ENOENT)
		return diag_fail(diag, ENOENT,
				 "the file has neither symbols nor .eh_frame, nor code in "
				 "which functions are seen to start");
	if (err == -EFBIG)
		return diag_fail(diag, EFBIG, "the file has more than %zu MB of symbols",
				 max_bytes >> 20);
	if (err < 0)
		return diag_fail(diag, -err, "out of memory while reading symbols");
	return 0;
}

int image_symbols_read(int fd, int debug_fd, size_t max_bytes, struct image_symbols **ret,
		       struct diag *diag)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	/* A debug file that is broken costs only itself. */
	Elf *debug = debug_fd >= 0 ? elf_begin(debug_fd, ELF_C_READ_MMAP, NULL) : NULL;
	int err = read_open(elf, debug, max_bytes, ret, diag);
	elf_end(debug);
	elf_end(elf);
	return err;
}

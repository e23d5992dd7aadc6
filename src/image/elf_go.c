/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf_symbols.h"
#include "image/go_table.h"

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

int elf_add_go(struct symbol_set *set, const struct elf_code *code)
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/starts.h"

#include <errno.h>
#include <stdlib.h>
#include "image/elf_symbols.h"
#include "util/num.h"

static int take_starts(const struct symbol_set *set, uint64_t **ret, size_t *ret_count)
{
	uint64_t *starts = set->count ? malloc(set->count * sizeof(*starts)) : NULL;

	if (set->count && !starts)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		starts[i] = set->list[i].start;
	*ret = starts;
	*ret_count = num_sort_unique(starts, set->count);
	return 0;
}

int image_starts_read(int fd, size_t max_bytes, uint64_t **ret, size_t *ret_count,
		      struct diag *diag)
{
	struct elf_code code;
	struct symbol_set set;

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return diag_fail(diag, EBADMSG, "not an ELF file: %s", elf_errmsg(-1));
	int r = elf_code_init(&code, elf);
	if (r < 0) {
		elf_end(elf);
		return diag_fail(diag, -r, "not an ELF file");
	}
	r = symbol_set_init(&set, max_bytes);
	if (!r)
		r = elf_add_starts(&set, &code);
	if (!r)
		r = elf_add_plt(&set, &code);
	if (!r)
		r = take_starts(&set, ret, ret_count);
	symbol_set_free(&set);
	elf_code_free(&code);
	elf_end(elf);
	return r ? diag_fail(diag, -r, "cannot read where functions start") : 0;
}

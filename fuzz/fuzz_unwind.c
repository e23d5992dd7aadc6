/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* .eh_frame sections: the frames that they describe, their programs and the rules made of those. */
#include <stdint.h>
#include <stdlib.h>
#include "image/ehframe.h"
#include "image/unwind_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	const struct ehframe_entry *entry;
	uint64_t at, rows;
};

static int take_row(void *arg, const struct cfi_row *row)
{
	struct fuzz *f = arg;
	struct wire_unwind_rule rule;

	if (row->start != f->at || row->end <= row->start)
		abort();
	f->at = row->end;
	if (unwind_rule_from_row(row, f->entry->signal, &rule) &&
	    (rule.cfa == WIRE_CFA_NONE || rule.cfa_reg >= WIRE_UNWIND_REGISTERS ||
	     rule.fp_reg >= WIRE_UNWIND_REGISTERS || rule.ra_reg >= WIRE_UNWIND_REGISTERS))
		abort();
	return ++f->rows > 100000 ? 1 : 0;
}

static int take_entry(void *arg, const struct ehframe_entry *entry)
{
	struct fuzz *f = arg;

	f->entry = entry;
	f->at = entry->start;
	return cfi_each_row(&entry->program, take_row, f) > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {0};

	ehframe_each(data, size, 0x1000, 8, take_entry, &f);
	return 0;
}

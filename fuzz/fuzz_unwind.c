/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* .eh_frame sections: the frames that they describe, their programs and the rules made of those;
 * and Go's tables of frames. */
#include <stdint.h>
#include <stdlib.h>
#include "unwind/ehframe.h"
#include "unwind/go_frames.h"
#include "unwind/unwind_rule.h"

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

static int take_go(void *arg, uint64_t start, uint64_t end, uint32_t depth)
{
	struct fuzz *f = arg;

	if (start < f->at || end <= start || depth > INT32_MAX - 8)
		abort();
	f->at = end;
	return ++f->rows > 100000 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {0};

	ehframe_each(data, size, 0x1000, 8, take_entry, &f);
	f = (struct fuzz){0};
	go_frames_each(data, size, take_go, &f);
	return 0;
}

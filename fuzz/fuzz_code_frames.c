/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code of any bytes, from which unwind rules are made. The first 8 bytes are where functions begin
 * and where pointers lead, in units of 4 bytes; the rest is code.
 */
#include <stdint.h>
#include <stdlib.h>
#include "unwind/code_frames.h"

#define CODE 0x401000u
#define HEAD 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	uint64_t at, end;
};

static int take_rule(void *arg, uint64_t start, uint64_t end, const struct wire_unwind_rule *rule)
{
	struct fuzz *f = arg;

	if (start < f->at || end <= start || end > f->end || rule->cfa == WIRE_CFA_NONE ||
	    rule->cfa_reg >= WIRE_UNWIND_REGISTERS || rule->fp_reg >= WIRE_UNWIND_REGISTERS ||
	    rule->ra_reg >= WIRE_UNWIND_REGISTERS)
		abort();
	f->at = end;
	return 0;
}

/* Ascending, as the bytes are. */
static size_t take_addresses(const uint8_t *bytes, uint64_t *list)
{
	uint64_t at = CODE;

	for (size_t i = 0; i < HEAD / 2; i++)
		list[i] = at += 4ul * bytes[i];
	return HEAD / 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t starts[HEAD / 2], pointed[HEAD / 2];
	struct code_frames *frames = NULL;
	struct code_piece piece;
	struct fuzz f;

	if (size <= HEAD || code_frames_new(&frames, NULL))
		return 0;
	piece = (struct code_piece){.bytes = data + HEAD,
				    .size = size - HEAD,
				    .address = CODE,
				    .starts = starts,
				    .start_count = take_addresses(data, starts),
				    .pointed = pointed,
				    .pointed_count = take_addresses(data + HEAD / 2, pointed),
				    .entry = CODE};
	f = (struct fuzz){.at = CODE, .end = CODE + piece.size};
	code_frames_each(frames, &piece, take_rule, &f);
	code_frames_free(frames);
	return 0;
}

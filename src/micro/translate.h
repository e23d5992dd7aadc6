/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_TRANSLATE_H
#define CULPRIT_MICRO_TRANSLATE_H

#include <stddef.h>
#include <stdint.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"
#include "util/diag.h"

/*
 * Translates machine code to the interpreter's micro-operations (wire_micro.h). x86-64 only.
 */
struct micro_decoder;

/* -EOPNOTSUPP for other machines (ELF's EM_...). */
int micro_decoder_new(uint16_t elf_machine, struct micro_decoder **ret, struct diag *diag);
void micro_decoder_free(struct micro_decoder *m);

/*
 * Translates the instruction at the start of code; returns its length, or 0 if there is none. What
 * has no micro-operation gets a MICRO_STOP with the reason.
 */
unsigned micro_translate(const struct micro_decoder *m, const uint8_t *code, size_t size,
			 struct wire_micro *ret);

/* Code as it is in the file, from begin on; more than the strip that is wanted. */
struct micro_code {
	const uint8_t *bytes;
	uint64_t begin; /* file offset */
	size_t size;
	/* Where instructions are known to begin (functions), as file offsets in ascending order;
	 * those outside of the code are passed over. The sweep for a strip begins at the last of
	 * these that is not past the strip's begin, so have one there: the strip's begin itself
	 * would often be within an instruction. */
	const uint64_t *starts;
	size_t start_count;
};

/*
 * Translates the strip of that number: fills in ret_strip (first: 0) and micros; returns their
 * count. Bytes that are not an instruction are passed over, as is an instruction that reaches into
 * the next known start.
 */
unsigned micro_translate_strip(const struct micro_decoder *m, const struct micro_code *code,
			       uint32_t number, struct wire_strip *ret_strip,
			       struct wire_micro micros[WIRE_STRIP_BYTES]);

#endif

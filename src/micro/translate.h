/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_TRANSLATE_H
#define CULPRIT_MICRO_TRANSLATE_H

#include <stddef.h>
#include <stdint.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"
#include "util/diag.h"

/* Translates x86-64 machine code to the interpreter's micro-operations (wire_micro.h). */
struct micro_decoder;

/* elf_machine is ELF's EM_... number. 0, -EOPNOTSUPP for other machines, -ENOMEM. */
int micro_decoder_new(uint16_t elf_machine, struct micro_decoder **ret, struct diag *diag);
void micro_decoder_free(struct micro_decoder *m);

/*
 * Translates the instruction at the start of code. Returns its length in bytes, or 0 if there is no
 * instruction. One that cannot be expressed becomes a MICRO_STOP with the reason.
 */
unsigned micro_translate(const struct micro_decoder *m, const uint8_t *code, size_t size,
			 struct wire_micro *ret);

/* Code of a file from begin on; it should extend beyond the strip that is wanted. */
struct micro_code {
	const uint8_t *bytes;
	uint64_t begin; /* file offset */
	size_t size;
	/* File offsets at which instructions are known to begin (functions), ascending; those
	 * outside of the code are ignored. The sweep for a strip begins at the last of these that
	 * is not past the strip's begin: have one there, since the strip itself often begins within
	 * an instruction. */
	const uint64_t *starts;
	size_t start_count;
};

/*
 * Translates the strip of that number: fills in ret_strip (with first = 0) and micros, and returns
 * the number of micros. Bytes that are not an instruction are skipped, and so is an instruction
 * that overlaps the next known start.
 */
unsigned micro_translate_strip(const struct micro_decoder *m, const struct micro_code *code,
			       uint32_t number, struct wire_strip *ret_strip,
			       struct wire_micro micros[WIRE_STRIP_BYTES]);

#endif

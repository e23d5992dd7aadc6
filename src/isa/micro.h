/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_MICRO_H
#define CULPRIT_ISA_MICRO_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_edges.h"
#include "util/diag.h"

/*
 * Translates machine code to the micro-operations of the interpreter of edge samples
 * (bpf/wire_edges.h). x86-64 only.
 */
struct isa_micro;

/* -EOPNOTSUPP for other machines (ELF's EM_...). */
int isa_micro_new(uint16_t elf_machine, struct isa_micro **ret, struct diag *diag);
void isa_micro_free(struct isa_micro *m);

/*
 * Translates the instruction at the start of code; returns its length, or 0 if there is none. What
 * has no micro-operation gets a MICRO_STOP with the reason.
 */
unsigned isa_micro_translate(const struct isa_micro *m, const uint8_t *code, size_t size,
			     struct wire_micro *ret);

/* Code as it is in the file, from begin on; more than the strip that is wanted. */
struct isa_micro_code {
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
 * count. Bytes that are no instruction are passed over, as is an instruction that reaches into the
 * next known start.
 */
unsigned isa_micro_strip(const struct isa_micro *m, const struct isa_micro_code *code,
			 uint32_t number, struct wire_strip *ret_strip,
			 struct wire_micro micros[WIRE_STRIP_BYTES]);

#endif

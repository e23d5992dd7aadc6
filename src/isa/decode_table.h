/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_DECODE_TABLE_H
#define CULPRIT_ISA_DECODE_TABLE_H

#include "isa/operands.h"

/* The functions of an architecture. decode fills in ret, which holds the address, size 1 and the
 * values of an invalid instruction when it is called; it returns true if the instruction is
 * valid. */
struct isa_table {
	bool (*decode)(const struct isa_decoder *d, const uint8_t *code, size_t size,
		       struct isa_instruction *ret);
	bool (*format)(const struct isa_decoder *d, const uint8_t *code,
		       const struct isa_instruction *in, char out[ISA_TEXT_MAX]);
	/* As decode, and also fills in ret_operands, which is zeroed when it is called. */
	bool (*operands)(const struct isa_decoder *d, const uint8_t *code, size_t size,
			 struct isa_instruction *ret, struct isa_operands *ret_operands);
	const char *(*mnemonic)(unsigned number); /* NULL: none */
	uint8_t unit;				  /* bytes to skip where there is no instruction */
};

struct isa_decoder {
	const struct isa_table *table;
	enum isa_syntax syntax;
	unsigned bits;
	void *state;		  /* the architecture's own, on the heap */
	struct isa_writer writer; /* write is NULL if there is none */
};

int isa_x86_init(struct isa_decoder *d);

#endif

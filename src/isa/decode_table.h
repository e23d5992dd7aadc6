/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_DECODE_TABLE_H
#define CULPRIT_ISA_DECODE_TABLE_H

#include "isa/operands.h"

/* What an architecture provides. decode fills in ret, of which address, size 1 and the defaults of
 * an invalid instruction are set already; true when it is valid. */
struct isa_table {
	bool (*decode)(const struct isa_decoder *d, const uint8_t *code, size_t size,
		       struct isa_instruction *ret);
	bool (*format)(const struct isa_decoder *d, const uint8_t *code,
		       const struct isa_instruction *in, char out[ISA_TEXT_MAX]);
	/* As decode, and fills in ret_operands, which is zeroed. */
	bool (*operands)(const struct isa_decoder *d, const uint8_t *code, size_t size,
			 struct isa_instruction *ret, struct isa_operands *ret_operands);
	const char *(*mnemonic)(unsigned number); /* NULL: none */
	uint8_t unit; /* bytes to pass over when there is no instruction */
};

struct isa_decoder {
	const struct isa_table *table;
	enum isa_syntax syntax;
	unsigned bits;
	void *state;		  /* of the architecture, malloc'ed */
	struct isa_writer writer; /* write NULL: none */
};

int isa_x86_init(struct isa_decoder *d);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_X86_H
#define CULPRIT_ISA_X86_H

#include <Zydis/Zydis.h>
#include "isa/decode_table.h"

/* Shared by the files x86*.c. */
struct x86 {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
};

bool isa_x86_operands(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      struct isa_instruction *ret, struct isa_operands *ret_operands);
/* Fills in what isa_decode returns, from a decoded instruction. */
void isa_x86_describe(const ZydisDecodedInstruction *z, struct isa_instruction *ret);
const char *isa_x86_mnemonic(unsigned mnemonic);

#endif

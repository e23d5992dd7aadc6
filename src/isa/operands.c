/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "isa/operands.h"

#include <string.h>
#include "isa/decode_table.h"

bool isa_decode_operands(const struct isa_decoder *d, const uint8_t *code, size_t size,
			 uint64_t address, struct isa_instruction *ret,
			 struct isa_operands *ret_operands)
{
	*ret = (struct isa_instruction){
		.address = address, .size = 1, .target = ISA_NO_ADDRESS, .data = ISA_NO_ADDRESS};
	memset(ret_operands, 0, sizeof(*ret_operands));
	ret_operands->condition = ISA_NO_CONDITION;
	ret->valid = d->table->operands(d, code, size, ret, ret_operands);
	if (!ret->valid)
		ret->size = d->table->unit < size ? d->table->unit : (uint8_t)size;
	return ret->valid;
}

bool isa_operand_replaces(const struct isa_operands *o, const struct isa_operand *op)
{
	if (op->kind != ISA_OPERAND_REGISTER || !(op->access & ISA_ACCESS_WRITE) ||
	    (op->access & ISA_ACCESS_MAYBE_WRITE))
		return false;
	if (op->reg < ISA_REG_GENERAL + 16)
		return op->size_bits >= 32;
	if (op->reg == ISA_REG_FLAGS)
		return false; /* see flags_written */
	if (op->reg >= ISA_REG_VECTOR && op->reg < ISA_REG_MASK)
		return (o->attributes & ISA_VECTOR_ENCODED)
			       ? !(o->attributes & ISA_MERGE_MASKED)
			       : op->size_bits >= 128 && !(o->attributes & ISA_KEEPS_UPPER);
	return true;
}

const char *isa_register_name(unsigned reg)
{
	static const char *const names[ISA_REG_COUNT] = {
		"rax",	 "rcx",	   "rdx",   "rbx",   "rsp",   "rbp",   "rsi",	"rdi",	 "r8",
		"r9",	 "r10",	   "r11",   "r12",   "r13",   "r14",   "r15",	"rip",	 "flags",
		"xmm0",	 "xmm1",   "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",	"xmm7",	 "xmm8",
		"xmm9",	 "xmm10",  "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17",
		"xmm18", "xmm19",  "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
		"xmm27", "xmm28",  "xmm29", "xmm30", "xmm31", "k0",    "k1",	"k2",	 "k3",
		"k4",	 "k5",	   "k6",    "k7",    "st0",   "st1",   "st2",	"st3",	 "st4",
		"st5",	 "st6",	   "st7",   "mm0",   "mm1",   "mm2",   "mm3",	"mm4",	 "mm5",
		"mm6",	 "mm7",	   "es",    "cs",    "ss",    "ds",    "fs",	"gs",	 "x87",
		"mxcsr", "system",
	};

	return reg < ISA_REG_COUNT && names[reg] ? names[reg] : "?";
}

const char *isa_mnemonic_name(const struct isa_decoder *d, unsigned mnemonic)
{
	const char *name = d->table->mnemonic(mnemonic);

	return name ? name : "?";
}

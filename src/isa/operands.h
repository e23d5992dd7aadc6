/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_OPERANDS_H
#define CULPRIT_ISA_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "isa/decode.h"

/*
 * What an instruction reads, writes and does: all its operands, including those that its text does
 * not show, in one form for every architecture. isa_decode (decode.h) is the fast way to length and
 * branches; this takes 2 to 3 times as long.
 *
 * Registers of all kinds share one range of numbers. A part of a register (eax, ax, al; xmm0 of
 * zmm0) has the register's number and the part's width, and first_bit 8 for ah, bh, ch and dh.
 */
enum isa_register {
	ISA_REG_GENERAL = 0, /* 0-15 in x86's order: ax cx dx bx sp bp si di r8-r15 */
	ISA_REG_STACK = 4,   /* the stack pointer */
	ISA_REG_FRAME = 5,   /* the frame pointer, in code that has one */
	ISA_REG_PC = 16,
	ISA_REG_FLAGS,
	ISA_REG_VECTOR,			    /* 32: xmm, ymm, zmm */
	ISA_REG_MASK = ISA_REG_VECTOR + 32, /* 8: k0-k7 */
	ISA_REG_FLOAT = ISA_REG_MASK + 8,   /* 8: st(0)-st(7), from the top of the stack */
	ISA_REG_MMX = ISA_REG_FLOAT + 8,    /* 8: mm0-mm7 */
	ISA_REG_SEGMENT = ISA_REG_MMX + 8,  /* 6: es cs ss ds fs gs */
	ISA_REG_FS = ISA_REG_SEGMENT + 4,
	ISA_REG_GS = ISA_REG_SEGMENT + 5,
	ISA_REG_FLOAT_STATE = ISA_REG_SEGMENT + 6, /* x87 control, status and tag words */
	ISA_REG_VECTOR_STATE,			   /* mxcsr */
	ISA_REG_SYSTEM,				   /* all of cr, dr, msr, gdtr, ... */
	ISA_REG_COUNT,
	ISA_REG_NONE = 255,
};

enum isa_operand_kind { ISA_OPERAND_REGISTER, ISA_OPERAND_MEMORY, ISA_OPERAND_IMMEDIATE };

/*
 * A "maybe" access need not happen (a masked store, rep with a count of 0). An operand that may be
 * written is also an input, as its old value may stay (cmov's destination).
 */
enum isa_access {
	ISA_ACCESS_READ = 1,
	ISA_ACCESS_WRITE = 2,
	ISA_ACCESS_MAYBE_READ = 4,
	ISA_ACCESS_MAYBE_WRITE = 8,
};
#define ISA_ACCESS_READS  (ISA_ACCESS_READ | ISA_ACCESS_MAYBE_READ)
#define ISA_ACCESS_WRITES (ISA_ACCESS_WRITE | ISA_ACCESS_MAYBE_WRITE)

struct isa_operand {
	uint8_t kind;	/* enum isa_operand_kind */
	uint8_t access; /* enum isa_access, or'ed; 0 where only the address is used (lea, prefetch,
			   nop) */
	bool hidden;	/* not in the text: the stack pointer of push, dx of mul, flags */
	uint8_t reg;	/* of a register operand */
	uint8_t first_bit; /* of a register operand: 8 for ah, bh, ch, dh, else 0 */
	/*
	 * A memory operand is at base + index * scale + value (+ the base of segment), with the
	 * registers' values before the instruction (so push writes at -8(%rsp)). If base is
	 * ISA_REG_PC, value is the resolved address and the PC is not added. index may be a vector
	 * register (gathers). The registers of the address are not listed as operands of their own.
	 */
	uint8_t base, index, scale;
	uint8_t segment;    /* ISA_REG_FS, ISA_REG_GS, or ISA_REG_NONE: base is 0 */
	uint16_t size_bits; /* of the access; 0 for memory without a fixed size (xsave) */
	int64_t value;	    /* memory: displacement; immediate: as the instruction uses it */
};

enum isa_flag { /* x86's bits of the flags register */
		ISA_FLAG_CARRY = 1 << 0,
		ISA_FLAG_PARITY = 1 << 2,
		ISA_FLAG_ADJUST = 1 << 4,
		ISA_FLAG_ZERO = 1 << 6,
		ISA_FLAG_SIGN = 1 << 7,
		ISA_FLAG_DIRECTION = 1 << 10,
		ISA_FLAG_OVERFLOW = 1 << 11,
};

enum isa_attribute {
	ISA_LOCKED = 1 << 0,	  /* an atomic read-modify-write: lock prefix, xchg with memory */
	ISA_REPEATED = 1 << 1,	  /* rep movs and the like: a loop in one instruction */
	ISA_FENCE = 1 << 2,	  /* lfence, sfence, mfence */
	ISA_SERIALISING = 1 << 3, /* cpuid, iret, ...: no instruction is reordered with it */
	ISA_ZERO_IDIOM = 1 << 4,  /* xor r,r and the like: the result does not depend on r */
	ISA_MOVE = 1 << 5,	  /* copy between registers, 32 bits or more: can be eliminated */
	ISA_NOP = 1 << 6,
	ISA_PREFETCH = 1 << 7,
	ISA_NON_TEMPORAL = 1 << 8, /* movnt stores and loads */
	ISA_VECTOR_ENCODED =
		1 << 9, /* VEX or EVEX: a write clears the upper part of the vector register */
	ISA_MERGE_MASKED = 1 << 10, /* EVEX with merge masking: the destination is also an input */
	ISA_KEEPS_UPPER = 1 << 11,  /* legacy encoding, writes only the low part of a vector */
	ISA_INDIRECT = 1 << 12,	    /* a branch whose target is a register or memory operand */
};

#define ISA_NO_CONDITION 255
#define ISA_OPERANDS_MAX 10

struct isa_operands {
	uint8_t count, shown; /* of list: all; those in the text, which come first */
	uint8_t condition; /* of jcc, setcc, cmov: x86's codes 0-15 (o no b ae e ne be a s ns p np l
			      ge le g); else ISA_NO_CONDITION */
	uint16_t mnemonic; /* the architecture's number: ZydisMnemonic */
	uint16_t attributes; /* enum isa_attribute, or'ed */
	/* enum isa_flag, or'ed. An undefined result counts as written. The flags register is also
	 * in list, as a hidden operand. */
	uint16_t flags_read, flags_written;
	struct isa_operand list[ISA_OPERANDS_MAX];
};

/*
 * As isa_decode, and also gives the operands. False, with ret_operands empty, if the instruction is
 * not valid. Direct branch targets are not operands; they are in ret.
 */
bool isa_decode_operands(const struct isa_decoder *d, const uint8_t *code, size_t size,
			 uint64_t address, struct isa_instruction *ret,
			 struct isa_operands *ret_operands);

/*
 * Whether writing this operand replaces the whole register (on x86-64: writes of 32 or 64 bits of a
 * general register; of vectors, all writes by VEX and EVEX instructions without merging).
 */
bool isa_operand_replaces(const struct isa_operands *o, const struct isa_operand *op);

/* The name of a whole register, as "rax"; "xmm3" for vectors; "?" for a number out of range. */
const char *isa_register_name(unsigned reg);
/* The name of a mnemonic of the architecture, as "add"; "?" for an unknown number. */
const char *isa_mnemonic_name(const struct isa_decoder *d, unsigned mnemonic);

#endif

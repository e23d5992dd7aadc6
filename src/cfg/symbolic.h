/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SYMBOLIC_H
#define CULPRIT_CFG_SYMBOLIC_H

#include "cfg/image.h"
#include "isa/operands.h"

/*
 * Execution of a path of instructions over symbols, just enough to see what an indirect jump's
 * target is computed from and what comparisons on the path say of it. A value is
 * scale * symbol + offset, modulo 2^64; symbol 0 stands for nothing (a constant). Symbols are
 * shared: the same operation on the same value is the same symbol, so a comparison of a copy is
 * known of the original.
 */
struct value {
	uint32_t symbol;
	uint64_t scale, offset;
};

enum symbol_kind {
	SYMBOL_FIRST, /* what a register had where the path starts; imm: the register */
	SYMBOL_OPAQUE,
	SYMBOL_LOAD,	 /* memory at arg; imm: generation and size */
	SYMBOL_TRUNCATE, /* the low imm bits of arg */
	SYMBOL_EXTEND,	 /* the low imm bits of arg, sign-extended */
	SYMBOL_AND,	 /* arg & imm */
	SYMBOL_SHIFT,	 /* arg >> imm, unsigned */
};

struct symbol {
	uint8_t kind; /* enum symbol_kind */
	bool first;   /* depends on what was before the path: a longer one may know more */
	bool compared;
	uint8_t bytes; /* of a load */
	struct value arg;
	uint64_t imm;
	uint64_t low, high; /* what comparisons say, unsigned */
};

/* How much a range is worth. */
enum strength {
	STRENGTH_NONE,
	STRENGTH_WIDTH,	  /* by the width of a load or a mask: no more than that */
	STRENGTH_COMPARED /* by a comparison and a branch */
};

struct range {
	uint64_t low, high;
	enum strength strength;
};

#define SYMBOLIC_SYMBOLS_MAX 384
#define SYMBOLIC_CELLS_MAX   64

struct cell { /* memory that the path has written, or read */
	struct value address, value;
	uint32_t bytes;
};

struct symbolic {
	const struct cfg_image *image;
	/* What a register has where the path starts, if that is constant. */
	bool (*constant)(void *arg, unsigned reg, uint64_t *ret);
	void *constant_arg;
	struct value regs[16];
	uint16_t regs_set; /* a bit for each of regs that is valid */
	bool flags_known, flags_zero_only;
	struct value flags_left, flags_right;
	unsigned flags_bits;
	uint32_t generation, stack_generation; /* of memory: what was read before is no longer it */
	uint32_t symbol_count, cell_count;
	bool overflow;
	struct symbol symbols[SYMBOLIC_SYMBOLS_MAX];
	struct cell cells[SYMBOLIC_CELLS_MAX];
};

void symbolic_start(struct symbolic *s, const struct cfg_image *image);
/* One instruction that is not a branch, or a call. */
void symbolic_step(struct symbolic *s, const struct isa_instruction *in,
		   const struct isa_operands *o);
/* The path goes on at the target of the conditional branch, or does not. */
void symbolic_branch(struct symbolic *s, unsigned condition, bool taken);
/* The value of a register or memory operand; address of a memory operand. */
struct value symbolic_operand(struct symbolic *s, const struct isa_operand *o);
struct range symbolic_range(const struct symbolic *s, struct value v);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SYMBOLIC_VALUES_H
#define CULPRIT_CFG_SYMBOLIC_VALUES_H

#include "cfg/image.h"
#include "isa/operands.h"

/*
 * Values, registers and memory of symbolic execution. A value is scale * symbol + offset, modulo
 * 2^64; symbol 0 stands for nothing (a constant). Symbols are shared: the same operation on the
 * same value is the same symbol, so a comparison of a copy is known of the original.
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
/* The value of a register or memory operand; address of a memory operand. */
struct value symbolic_operand(struct symbolic *s, const struct isa_operand *o);
struct range symbolic_range(const struct symbolic *s, struct value v);

/* bits: the width, from 1 on; 64 and more change nothing. */
struct value value_constant(uint64_t c);
bool value_same(struct value a, struct value b);
uint64_t value_low_bits(unsigned bits); /* all ones */
uint64_t value_sign_extend(uint64_t v, unsigned bits);
struct value value_truncate(struct symbolic *s, struct value v, unsigned bits);
struct value value_extend(struct symbolic *s, struct value v, unsigned bits); /* by its sign */
struct value value_add(struct symbolic *s, struct value a, struct value b);
struct value value_negate(struct symbolic *s, struct value v);
struct value value_multiply(struct symbolic *s, struct value v, uint64_t factor);
/* What is made of a value in a way that is not followed: it is not known, and no other is it. */
struct value value_opaque(struct symbolic *s, struct value from);

/* The symbol of an operation, the same for the same one, except for opaque ones. first: it depends
 * on what was before the path. */
struct value symbol_make(struct symbolic *s, enum symbol_kind kind, struct value arg, uint64_t imm,
			 unsigned bytes, bool first);

struct value state_get_register(struct symbolic *s, unsigned reg);
/* Through an operand, which says how many bits are written. */
void state_set_register(struct symbolic *s, const struct isa_operand *o, struct value v);
/* Where a memory operand is. */
struct value state_address(struct symbolic *s, const struct isa_operand *o);
/* What the path wrote there, or the image's constant data; else a symbol. */
struct value state_load(struct symbolic *s, struct value address, unsigned bytes);
void state_store(struct symbolic *s, struct value address, unsigned bytes, struct value v);
/* Forgets what a store there may have changed; all: a store anywhere but in the stack. */
void state_forget_cells(struct symbolic *s, struct value address, unsigned bytes, bool all);

#endif

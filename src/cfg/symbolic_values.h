/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_SYMBOLIC_VALUES_H
#define CULPRIT_CFG_SYMBOLIC_VALUES_H

#include "cfg/image.h"
#include "isa/operands.h"

/*
 * Values, registers and memory of symbolic execution. A value is scale * symbol + offset, modulo
 * 2^64; symbol 0 means none (a constant). Symbols are shared: the same operation on the same value
 * gives the same symbol, so that a comparison of a copy tells of the original too.
 */
struct value {
	uint32_t symbol;
	uint64_t scale, offset;
};

enum symbol_kind {
	SYMBOL_FIRST, /* content of a register at the start of the path; imm: the register */
	SYMBOL_OPAQUE,
	SYMBOL_LOAD,	 /* memory at arg; imm: generation and size */
	SYMBOL_TRUNCATE, /* the low imm bits of arg */
	SYMBOL_EXTEND,	 /* the low imm bits of arg, sign-extended */
	SYMBOL_AND,	 /* arg & imm */
	SYMBOL_SHIFT,	 /* arg >> imm, unsigned */
};

struct symbol {
	uint8_t kind; /* enum symbol_kind */
	bool first;   /* depends on what came before the path: a longer one may tell more */
	bool compared;
	uint8_t bytes; /* of a load */
	struct value arg;
	uint64_t imm;
	uint64_t low, high; /* its range by comparisons, unsigned */
};

/* How a range is known. */
enum strength {
	STRENGTH_NONE,
	STRENGTH_WIDTH,	  /* only by the width of a load or a mask */
	STRENGTH_COMPARED /* by a comparison and a branch */
};

struct range {
	uint64_t low, high;
	enum strength strength;
};

#define SYMBOLIC_SYMBOLS_MAX 384
#define SYMBOLIC_CELLS_MAX   64

struct cell { /* memory that the path has written or read */
	struct value address, value;
	uint32_t bytes;
};

struct symbolic {
	const struct cfg_image *image;
	/* Gives the content of a register at the start of the path, if it is constant. */
	bool (*constant)(void *arg, unsigned reg, uint64_t *ret);
	void *constant_arg;
	struct value regs[16];
	uint16_t regs_set; /* one bit per valid register in regs */
	bool flags_known, flags_zero_only;
	struct value flags_left, flags_right;
	unsigned flags_bits;
	uint32_t generation, stack_generation; /* of memory: an earlier read may be out of date */
	uint32_t symbol_count, cell_count;
	bool overflow;
	struct symbol symbols[SYMBOLIC_SYMBOLS_MAX];
	struct cell cells[SYMBOLIC_CELLS_MAX];
};

void symbolic_start(struct symbolic *s, const struct cfg_image *image);
/* The value of an operand; below, the range of a value. */
struct value symbolic_operand(struct symbolic *s, const struct isa_operand *o);
struct range symbolic_range(const struct symbolic *s, struct value v);

/* In these functions bits is the width of a value, at least 1; from 64 on the value stays
 * unchanged. */
struct value value_constant(uint64_t c);
bool value_same(struct value a, struct value b);
uint64_t value_low_bits(unsigned bits); /* all ones */
uint64_t value_sign_extend(uint64_t v, unsigned bits);
struct value value_truncate(struct symbolic *s, struct value v, unsigned bits);
struct value value_extend(struct symbolic *s, struct value v, unsigned bits); /* sign-extends */
struct value value_add(struct symbolic *s, struct value a, struct value b);
struct value value_negate(struct symbolic *s, struct value v);
struct value value_multiply(struct symbolic *s, struct value v, uint64_t factor);
/* A new unknown value, equal to no other: the result of an operation on from that is not
 * modelled. */
struct value value_opaque(struct symbolic *s, struct value from);

/* The symbol of an operation: equal operations have the same, except for opaque ones. first: it
 * depends on what came before the path. */
struct value symbol_make(struct symbolic *s, enum symbol_kind kind, struct value arg, uint64_t imm,
			 unsigned bytes, bool first);

struct value state_get_register(struct symbolic *s, unsigned reg);
/* Writes a register; the operand says how many of its bits. */
void state_set_register(struct symbolic *s, const struct isa_operand *o, struct value v);
/* The address of a memory operand. */
struct value state_address(struct symbolic *s, const struct isa_operand *o);
/* The value in memory: what the path wrote there, or the image's constant data; else a symbol. */
struct value state_load(struct symbolic *s, struct value address, unsigned bytes);
void state_store(struct symbolic *s, struct value address, unsigned bytes, struct value v);
/* Forgets what a store at the address may have changed; with all, one anywhere but in the stack. */
void state_forget_cells(struct symbolic *s, struct value address, unsigned bytes, bool all);

#endif

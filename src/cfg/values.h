/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_VALUES_H
#define CULPRIT_CFG_VALUES_H

#include "cfg/symbolic.h"

/* Values, registers and memory of symbolic execution: what symbolic.c and values.c share. */

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

/* The symbol of an operation, the same for the same one, but for opaque ones. first: it depends on
 * what was before the path. */
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

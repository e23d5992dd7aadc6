/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_MEMO_H
#define CULPRIT_ISA_MEMO_H

#include "isa/operands.h"

/*
 * Remembers what was found out about instructions by their bytes: real code says the same over and
 * over. A table of one place for each hash, so what is new replaces what is old. For one thread.
 *
 *	value = isa_memo_find(memo, code, size, address, &known);
 *	if (!known) {
 *		... find out, into value ...
 *		isa_memo_keep(value, ISA_NO_ADDRESS);
 *	}
 */
struct isa_memo;

/* places: a power of two. NULL: no memory; all else takes that for a memory that keeps nothing. */
struct isa_memo *isa_memo_new(size_t places, size_t value_size);
void isa_memo_free(struct isa_memo *m);

/* The longest instruction that is remembered. */
#define ISA_MEMO_BYTES_MAX 15

/*
 * The place for what is known of the instruction of exactly these bytes, valid until the next call;
 * *ret_known: it has that. NULL: nothing is kept of such.
 */
void *isa_memo_find(struct isa_memo *m, const uint8_t *code, size_t size, uint64_t address,
		    bool *ret_known);
/* What the place has now is right: at this address only, or, with ISA_NO_ADDRESS, at any. */
void isa_memo_keep(void *value, uint64_t address);

/*
 * As isa_decode_operands for exactly the bytes of one instruction. m: made by
 * isa_memo_operands_new, for this decoder alone.
 */
struct isa_memo *isa_memo_operands_new(size_t places);
bool isa_memo_operands(struct isa_memo *m, const struct isa_decoder *d, const uint8_t *code,
		       size_t size, uint64_t address, struct isa_instruction *ret,
		       struct isa_operands *ret_operands);

#endif

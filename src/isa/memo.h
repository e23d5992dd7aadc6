/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_MEMO_H
#define CULPRIT_ISA_MEMO_H

#include "isa/operands.h"

/*
 * A cache of results about instructions, by their bytes: real code repeats the same instructions
 * over and over. It is a table with one place per hash, in which a new result replaces the old one.
 * For one thread.
 *
 *	value = isa_memo_find(memo, code, size, address, &known);
 *	if (!known) {
 *		... find out, into value ...
 *		isa_memo_keep(value, ISA_NO_ADDRESS);
 *	}
 */
struct isa_memo;

/* places must be a power of two, value_size is in bytes. NULL when out of memory: the other
 * functions take NULL for a cache that keeps nothing. */
struct isa_memo *isa_memo_new(size_t places, size_t value_size);
void isa_memo_free(struct isa_memo *m);

/* Size of the longest instruction that is kept. */
#define ISA_MEMO_BYTES_MAX 15

/*
 * Returns the place for the result about the instruction of exactly these bytes, valid until the
 * next call; *ret_known says whether it has one. NULL if results about this instruction are not
 * kept.
 */
void *isa_memo_find(struct isa_memo *m, const uint8_t *code, size_t size, uint64_t address,
		    bool *ret_known);
/* Marks the result in a place as valid: at this address only or, with ISA_NO_ADDRESS, at any. */
void isa_memo_keep(void *value, uint64_t address);

/*
 * As isa_decode_operands, for exactly the bytes of one instruction. m comes from
 * isa_memo_operands_new and is used with this decoder only.
 */
struct isa_memo *isa_memo_operands_new(size_t places);
bool isa_memo_operands(struct isa_memo *m, const struct isa_decoder *d, const uint8_t *code,
		       size_t size, uint64_t address, struct isa_instruction *ret,
		       struct isa_operands *ret_operands);

#endif

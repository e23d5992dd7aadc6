/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_CODE_SHAPE_H
#define CULPRIT_ANALYZE_COMPARE_CODE_SHAPE_H

#include <stddef.h>
#include <stdint.h>
#include "isa/decode.h"

/*
 * What stays of a function's code when it is linked elsewhere or compiled with other registers: its
 * instructions as mnemonics with kinds of operands (doc/sets.md). For finding the same function,
 * and the same instruction, in another build.
 */
struct code_shape {
	uint32_t *tokens; /* of each instruction: equal for equal mnemonic and kinds of operands */
	uint64_t *addresses;
	size_t count;
	/* Of the sequences of three tokens, the smallest hashes, ascending (Broder's min-wise
	 * sample): all of them when there are fewer than CODE_SHAPE_SKETCH. */
	uint64_t *sketch;
	size_t sketch_count;
};

#define CODE_SHAPE_SKETCH   256
#define CODE_SHAPE_CODE_MAX (1u << 20) /* bytes looked at of one function */
#define CODE_SHAPE_NONE	    UINT32_MAX

/* Decodes straight on from address. 0 or -ENOMEM. */
int code_shape_new(const struct isa_decoder *decoder, const uint8_t *code, size_t size,
		   uint64_t address, struct code_shape **ret);
void code_shape_free(struct code_shape *s);

/*
 * How much of the sequences of three instructions the two have in common, 0 to 1 (Jaccard's index,
 * with repetition): exact up to CODE_SHAPE_SKETCH sequences, past it estimated within 0.06 (two
 * standard errors).
 */
double code_shape_similarity(const struct code_shape *a, const struct code_shape *b);

/*
 * Which instruction of b corresponds to which of a: a longest common subsequence of tokens. ret:
 * for each of a's the number in b, or CODE_SHAPE_NONE. 0; 1 when both are too long for a table, and
 * only their common beginning and end were aligned; -ENOMEM.
 */
int code_shape_align(const struct code_shape *a, const struct code_shape *b, uint32_t *ret);

#endif

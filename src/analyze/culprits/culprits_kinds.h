/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_KINDS_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_KINDS_H

#include "isa/operands.h"

/* What the rules must know of an instruction beyond its operands, by its mnemonic's name. */
struct culprit_kinds;

enum culprit_kind {
	CULPRIT_KIND_OTHER,
	CULPRIT_KIND_ADD, /* add, and inc as an addition of 1 */
	CULPRIT_KIND_SUBTRACT,
	CULPRIT_KIND_INCREMENT,
	CULPRIT_KIND_DECREMENT,
	CULPRIT_KIND_ADDRESS, /* lea */
	CULPRIT_KIND_MASKED,  /* vector loads and stores under a mask */
	CULPRIT_KIND_FLOAT,   /* arithmetic that may need help with denormal numbers */
};

/* The decoder is borrowed. NULL when out of memory. */
struct culprit_kinds *culprit_kinds_new(const struct isa_decoder *decoder);
void culprit_kinds_free(struct culprit_kinds *k);
/* Looks a mnemonic up by its name on first use. k NULL: CULPRIT_KIND_OTHER. */
enum culprit_kind culprit_kind_of(struct culprit_kinds *k, const struct isa_operands *o);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_CFI_H
#define CULPRIT_UNWIND_CFI_H

#include <stddef.h>
#include <stdint.h>

/*
 * Call frame programs (DWARF 5, 6.4): from an FDE and its CIE to rows, each saying for a range of
 * code where the caller's frame is and where its frame pointer, its return address and one more
 * register are. Others are followed only as far as is needed to read the program.
 */

enum cfi_kind {
	CFI_UNDEFINED, /* not known; of the return address: there is no caller */
	CFI_SAME,      /* unchanged */
	CFI_AT_CFA,    /* in memory at CFA + offset */
	CFI_IS_CFA,    /* CFA + offset itself */
	CFI_REGISTER,  /* register reg + offset (offset 0 except for the CFA) */
	CFI_AT_EXPR,   /* in memory where the expression says */
	CFI_IS_EXPR,   /* what the expression gives */
};

struct cfi_rule {
	enum cfi_kind kind;
	uint16_t reg;
	int64_t offset;
	const uint8_t *expr; /* DWARF operations, in the program's bytes */
	size_t expr_size;
};

struct cfi_row {
	uint64_t start, end;
	struct cfi_rule cfa; /* CFI_REGISTER, CFI_IS_EXPR, or CFI_UNDEFINED */
	struct cfi_rule fp, ra, base;
};

/* All of it borrowed from the section's bytes. */
struct cfi_program {
	const uint8_t *initial, *body; /* of the CIE and of the FDE */
	size_t initial_size, body_size;
	uint64_t start, size; /* of the code */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg, fp_reg, base_reg; /* DWARF's numbers */
};

/*
 * Calls f with each row in ascending order: they cover the code from start to its end without a
 * gap. A non-zero return of f ends it with that value. -EBADMSG: the program is broken from some
 * point on (an unknown operation, a premature end, states nested more than 64 deep): f got the rows
 * before it.
 */
int cfi_each_row(const struct cfi_program *p, int (*f)(void *arg, const struct cfi_row *row),
		 void *arg);

#endif

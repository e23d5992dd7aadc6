/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_UNWIND_H
#define CULPRIT_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * The unwind table of an image: for each piece of its code the rule that finds the caller's frame,
 * from .eh_frame or, where there is none, .debug_frame, else from the code itself. Few rules are
 * distinct (about ten thousand on a whole desktop), so that a row is an address and the number of a
 * rule.
 */
struct image_unwind_row {
	uint32_t offset; /* from base; valid up to the next row's */
	uint32_t rule;	 /* index in rules */
};

struct image_unwind {
	/* Everything before the lists goes into the description as it is; rules and rows follow. */
	uint64_t base, rule_count, row_count;
	uint64_t refused;  /* rows set to none: the in-kernel program cannot follow their rule */
	uint64_t overlaps; /* rows cut off because another FDE has that code too */
	uint64_t damaged;  /* FDEs that are broken; what is before the damage counts */
	uint64_t derived;  /* rows that the code told (code_frames.h), before joining */
	uint64_t derived_bytes, skipped_bytes; /* of code that they are for; past a limit */
	struct wire_unwind_rule *rules;
	struct image_unwind_row *rows; /* ascending; the last one's rule is none */
	void *memory;		       /* holds both lists, freed with it */
};
#define IMAGE_UNWIND_HEAD_BYTES offsetof(struct image_unwind, rules)

#define IMAGE_UNWIND_ROWS_MAX (1u << 24)

void image_unwind_free(struct image_unwind *u);

/*
 * In two steps, as image/layout.h: describe reads a foreign format, in the worker; load checks what
 * it said. -ENOENT: there is no table. -EBADMSG, -EFBIG past IMAGE_UNWIND_ROWS_MAX, -EOPNOTSUPP for
 * machines other than x86-64.
 */
int image_unwind_describe(int fd, struct buf *out, struct diag *diag);
int image_unwind_load(const void *description, size_t size, struct image_unwind **ret);
/* The same for a description in memory aligned for its lists, taken over if this returns 0. */
int image_unwind_take(void *memory, const void *description, size_t size,
		      struct image_unwind **ret);
/* Writes the description again. 0 or an error of out. */
int image_unwind_save(const struct image_unwind *u, struct buf *out);

/* The rule for an address, NULL where there is none. */
const struct wire_unwind_rule *image_unwind_find(const struct image_unwind *u, uint64_t address);

#endif

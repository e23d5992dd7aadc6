/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VALUES_SUMMARY_H
#define CULPRIT_VALUES_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include "values/hotlist.h"

/*
 * What is kept of the values of one kind at one place. Some of it is no content: it tells of what
 * form the values were and not which. The rest is kept only where contents are.
 */

/* The numbers are stored in files. */
enum value_kind {
	VALUE_LOADED = 1, /* from memory */
	VALUE_STORED,
	VALUE_OPERAND,	 /* in a register, the first one of an operation */
	VALUE_OPERAND_2, /* the second */
	VALUE_RESULT,	 /* that goes to a register */
	VALUE_ADDRESS,	 /* of memory */
	VALUE_STRIDE,	 /* an address minus the one that this instruction had before; no content */
	VALUE_RETURN,	 /* rax at a return */
	VALUE_ARGUMENT_1, /* rdi at a call, at the function's entry; the others follow */
	VALUE_ARGUMENT_6 = VALUE_ARGUMENT_1 + 5,
	VALUE_KINDS,
};

#define VALUE_BIT(kind) (1u << (kind))
/* Those that a user can ask for. */
#define VALUES_LOADS	 VALUE_BIT(VALUE_LOADED)
#define VALUES_STORES	 VALUE_BIT(VALUE_STORED)
#define VALUES_OPERANDS	 (VALUE_BIT(VALUE_OPERAND) | VALUE_BIT(VALUE_OPERAND_2))
#define VALUES_RESULTS	 VALUE_BIT(VALUE_RESULT)
#define VALUES_ADDRESSES VALUE_BIT(VALUE_ADDRESS)
#define VALUES_STRIDES	 VALUE_BIT(VALUE_STRIDE)
#define VALUES_RETURNS	 VALUE_BIT(VALUE_RETURN)
#define VALUES_ARGUMENTS (VALUE_BIT(VALUE_ARGUMENT_6 + 1) - VALUE_BIT(VALUE_ARGUMENT_1))

#define VALUES_DEFAULT                                                                     \
	(VALUES_LOADS | VALUES_STORES | VALUES_RESULTS | VALUES_STRIDES | VALUES_RETURNS | \
	 VALUES_ARGUMENTS)

/* "loaded", "stored", ...; NULL: there is no such kind. */
const char *value_kind_name(uint32_t kind);

/* A value that an instruction had. */
struct value_sample {
	uint64_t value; /* the upper bytes, beyond its width, are 0 */
	uint8_t width;	/* log2 of its bytes: 0 to 3 */
	bool is_again;	/* the same instruction had another after it in the window: */
	bool is_same;	/* and it was equal */
};

#define VALUE_WIDTHS 3 /* 1, 2 and 4 bytes; values of 8 need no counter */

struct value_summary {
	uint64_t samples;
	uint64_t zeros, negatives;
	uint64_t again, same;	     /* samples with one after; of these, equal to it */
	uint64_t fits[VALUE_WIDTHS]; /* in so many bytes, with or without sign */
	uint32_t width;		     /* the largest */
	uint32_t aligned;	     /* low bits that are 0 in all; 64: all were 0 */
	uint64_t low, high;	     /* only where hot.samples is not 0; strides: with sign */
	struct value_hotlist hot;    /* of those whose content is kept */
};

union value_summary_room {
	struct value_summary summary;
	char bytes[sizeof(struct value_summary) + VALUES_MANY * sizeof(struct value_count)];
};

static inline size_t value_summary_bytes(uint32_t room)
{
	return sizeof(struct value_summary) + room * sizeof(struct value_count);
}

/* room as in value_hotlist_init. */
void value_summary_init(struct value_summary *s, uint32_t room);
/* with_content: whether the value itself may be kept. */
void value_summary_add(struct value_summary *s, enum value_kind kind,
		       const struct value_sample *sample, bool with_content);
/* As value_hotlist_merge. */
void value_summary_merge(struct value_summary *to, const struct value_summary *from,
			 enum value_kind kind);

/* The value with the sign that it has in that width. */
static inline int64_t value_signed(uint64_t value, unsigned width)
{
	const unsigned unused = 64 - (8u << (width & 3));

	return (int64_t)(value << unused) >> unused;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VALUES_EXTRACT_H
#define CULPRIT_VALUES_EXTRACT_H

#include "micro/wire_value.h"
#include "values/summary.h"

/* A value of one kind that an instruction had. */
struct value_found {
	enum value_kind kind;
	struct value_sample sample;
};

#define VALUES_FOUND_MAX 8

/*
 * What of an instruction's parts are values, and of which kind: a load's is the address and what
 * was loaded, an addition's the operands in registers and the result, and so on. What a plain move
 * stores or loads is that once, and no operand or result beside. Constants are left out, and the
 * addresses of the stack's own pushes and pops. Returns how many.
 */
unsigned values_extract(const struct wire_value *v, struct value_found ret[VALUES_FOUND_MAX]);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_UNWIND_WIRE_H
#define CULPRIT_IMAGE_UNWIND_WIRE_H

#include <stdint.h>

/* The description of an unwind table: this, then rules, then rows (image/unwind.h). */
struct unwind_wire {
	uint64_t base, rule_count, row_count;
	uint64_t refused, overlaps, damaged;
	uint64_t derived, derived_bytes, skipped_bytes;
};

#endif

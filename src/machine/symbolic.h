/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_SYMBOLIC_H
#define CULPRIT_MACHINE_SYMBOLIC_H

#include "machine/simulate.h"

/*
 * Addresses without values: each general register holds an unknown number (its version) plus a
 * known constant. Two accesses with the same versions and constants touch the same bytes, so a load
 * finds the store before it; accesses through different unknowns are taken to be apart.
 */
struct symbolic {
	struct {
		uint32_t version;
		int64_t offset;
	} registers[16];
	uint32_t versions;
};

/* All registers unknown, and different from all that were before. */
void machine_symbolic_reset(struct symbolic *s);
/* Fills in the addresses of an execution and goes past the instruction. */
void machine_symbolic_step(struct symbolic *s, const struct machine_instruction *in,
			   struct machine_execution *ret);

#endif

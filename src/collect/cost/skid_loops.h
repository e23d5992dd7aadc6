/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_SKID_LOOPS_H
#define CULPRIT_COLLECT_COST_SKID_LOOPS_H

#include <stdint.h>
#include "machine/skid.h"

/*
 * The loops of the skid measurement: in each, one instruction holds the others up, and it is known
 * which (for a branch: where execution goes on after it was mispredicted).
 */
struct skid_loop {
	enum machine_skid_case kind;
	uint64_t (*run)(uint64_t rounds,
			void *ring); /* ring: a pointer chase, for those that load */
	const char *begin, *end;
	/* The instruction to blame, and the ones after it; of the branch a second path. */
	const char *places[2][MACHINE_SKID_PLACES - 1];
};

/* NULL after the last: none on an architecture without loops of its own. */
const struct skid_loop *skid_loop_at(unsigned index);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_COUNTS_H
#define CULPRIT_INSTRUMENT_COUNTS_H

#include "instrument/plan.h"

/*
 * From the counters of a plan to how often each block and edge of its function ran. Exact: what
 * enters a node leaves it, and calls that did not return, or had been made before anything was
 * counted, are the plan's edges to the outside. Threads that were in the middle of the function
 * when counting began or ended have to be told (struct instrument_presence).
 */

#define INSTRUMENT_UNKNOWN UINT64_MAX

/* Of threads that had their program counter in the function. Those that were in a function
 * that it called are none of them: they come back as from any call. */
struct instrument_presence {
	uint64_t address;	 /* of an instruction of the original */
	uint32_t started, ended; /* threads that were there when counting began, and ended */
};

struct instrument_counts {
	uint64_t *blocks; /* how often each one's first instruction was executed */
	uint64_t *edges;  /* of the function, or INSTRUMENT_UNKNOWN */
	/* Blocks and edges that would have run less than 0 times, and are 0 here: not 0 when the
	 * counters are those of another plan or were read at different times, or presences are
	 * missing. */
	uint32_t inconsistent;
};

/*
 * counters: by slot, what each rose by. Presences at addresses that are no instruction of the
 * function are passed over. 0; -ERANGE: a sum above 2^63, the counters are none; -ENOMEM.
 */
int instrument_counts_new(const struct instrument_plan *plan, const uint64_t *counters,
			  const struct instrument_presence *presences, size_t presence_count,
			  struct instrument_counts **ret);
void instrument_counts_free(struct instrument_counts *c);

#endif

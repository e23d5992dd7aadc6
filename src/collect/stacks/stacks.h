/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACKS_H
#define CULPRIT_COLLECT_STACKS_STACKS_H

#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "collect/follow/follower.h"
#include "db/counters.h"

/*
 * Stacks of a share of the samples: gives the unwinder in the kernel the tables that it needs,
 * takes the stacks that it counted, puts them into the batch with their frames resolved, and keeps
 * the cost within the budget. See doc/stacks.md.
 */
extern const struct follower_ops stacks_follower;

#define STACKS_MEMORY_DEFAULT (64u << 20) /* bytes of unwind tables */
#define STACKS_HZ	      100	  /* that are aimed at, for each CPU */
/* The share of the budget that stacks may take, while interrupts take the rest. And, where a rate
 * is asked for, what each is counted as, which pays for one of 20 to 30 frames. */
#define STACKS_BUDGET_SHARE 0.15
#define STACKS_COUNTED_NS   28000.0

/* The follower's options. */
struct stacks_options {
	double hz; /* of each CPU; 0: what a share of the budget pays for, up to STACKS_HZ;
		    * INFINITY: one with each sample */
	uint64_t memory_bytes; /* of unwind tables; 0: the default */
};

struct stacks_status {
	COUNTERS_OF_STACKS(COUNTER_FIELD)
	uint64_t ends[WIRE_STACK_ENDS];
};
/* stacks: what the follower opened; NULL: all 0. */
void stacks_read_status(const void *stacks, struct stacks_status *ret);

#endif

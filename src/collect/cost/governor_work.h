/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_GOVERNOR_WORK_H
#define CULPRIT_COLLECT_COST_GOVERNOR_WORK_H

#include <stddef.h>
#include <stdint.h>

/* The loops that governor_measure.c interrupts. */
struct governor_work {
	void **lines; /* the first of a ring of pointers, one in each line; NULL: registers alone */
	size_t bytes;
};

/* A ring through bytes of fresh memory, in an order that no prefetcher follows; 0 bytes: none. 0
 * or -ENOMEM. */
int governor_work_new(size_t bytes, struct governor_work *ret);
void governor_work_free(struct governor_work *w);
/* A chain of so many dependent steps: each a load, or an operation in registers. */
void governor_work_run(const struct governor_work *w, uint64_t steps);
/* Steps that go through all of its lines once; 0 without memory. */
uint64_t governor_work_round(const struct governor_work *w);

#endif

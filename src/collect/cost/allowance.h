/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_ALLOWANCE_H
#define CULPRIT_COLLECT_COST_ALLOWANCE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Processor time for work that can wait (unwind tables, symbols), shared by the threads that do it:
 * so much a second, and what was left unused, up to a burst (a token bucket for each user of the
 * machine; what comes in is shared equally among them). A user whose work took more than he had
 * waits before his next piece, and nobody else does. Safe between threads; NULL allows all.
 */
struct allowance;

/* Each user begins with a whole burst. NULL when out of memory. */
struct allowance *allowance_new(double ns_a_second, double burst_ns, uint64_t now_ns);
void allowance_free(struct allowance *a);

/* A piece of work for a user took that much time of the calling thread and its worker process. */
void allowance_spend(struct allowance *a, uid_t user, uint64_t thread_ns, uint64_t worker_ns,
		     uint64_t now_ns);
/* When his next piece may begin (CLOCK_MONOTONIC); now or earlier: at once. */
uint64_t allowance_ready_ns(struct allowance *a, uid_t user, uint64_t now_ns);
/* From now on all is allowed: what is left is wanted before the end. */
void allowance_lift(struct allowance *a);

struct allowance_totals {
	uint64_t thread_ns, worker_ns; /* since the start */
	uint64_t waits;		       /* pieces of work that left nothing for the next */
};
void allowance_read(struct allowance *a, struct allowance_totals *ret);

/* The processor time that the calling thread took so far. */
uint64_t allowance_thread_ns(void);

#endif

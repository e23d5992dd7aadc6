/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_RECORD_BUDGET_H
#define CULPRIT_COLLECT_RECORD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * How many records of mappings and names each process may have taken in a second, so that one that
 * maps without end costs little and takes no room from the records of others. What goes past it is
 * counted, and the process is told of once an interval is over in which that happened no more: then
 * /proc says what it has.
 */
struct record_budget;

#define RECORD_BUDGET	 16384 /* in an interval */
#define RECORD_BUDGET_NS 1000000000ull

struct record_budget *record_budget_new(void); /* NULL when out of memory */
void record_budget_free(struct record_budget *b);

/* Whether one more record of a process is taken at that time (CLOCK_MONOTONIC). */
bool record_budget_take(struct record_budget *b, pid_t pid, uint64_t now_ns);
/* A process that has calmed down, and how many of its records were left out; false: there is none.
 * To be called again until then. */
bool record_budget_calmed(struct record_budget *b, uint64_t now_ns, pid_t *ret_pid,
			  uint64_t *ret_left_out);

#endif

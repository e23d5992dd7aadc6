/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_RECORD_BUDGET_H
#define CULPRIT_COLLECT_PROCESS_RECORD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * How many records of mappings and names each process may have taken in a second, and all of a
 * user's together (collect/process/user_share.h), so that one that maps without end, or a crowd,
 * costs little and takes no room from the records of others. What goes past it is counted, and the
 * process is reported once an interval has passed in which that no longer happened: then /proc says
 * what it has.
 */
struct record_budget;

#define RECORD_BUDGET	 16384 /* in an interval */
#define RECORD_BUDGET_NS 1000000000ull
#define RECORD_FREE	 128 /* that no user's share is charged with: most processes have fewer */
#define RECORD_FREE_ALL	 131072 /* of all processes: some make new ones without end */

/* read_user: see user_share_new. NULL when out of memory. */
struct record_budget *record_budget_new(int (*read_user)(pid_t pid, uid_t *ret));
void record_budget_free(struct record_budget *b);

/* Whether one more record of a process is taken at that time (CLOCK_MONOTONIC). */
bool record_budget_take(struct record_budget *b, pid_t pid, uint64_t now_ns);
/* Notes that a process made another at that time: see user_share_note_fork. */
void record_budget_note_fork(struct record_budget *b, pid_t pid, pid_t parent, uint64_t now_ns);
/* A process that has calmed down, and how many of its records were left out; PID 0: several, too
 * many to report each. False: there is none. To be called again until then. */
bool record_budget_calmed(struct record_budget *b, uint64_t now_ns, pid_t *ret_pid,
			  uint64_t *ret_left_out);

#endif

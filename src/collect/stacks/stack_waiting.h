/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACK_WAITING_H
#define CULPRIT_COLLECT_STACKS_STACK_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"

/*
 * Snapshots of stacks that wait for an unwind table, each with the slot of the file whose table
 * that is. When they would take more than a maximum, those that came first have waited long enough.
 */
struct stack_waiting;

/*
 * Goes on with one: returns the slot that it waits for then, 0: it is done. must_end: it does not
 * wait any more, whatever this returns. The snapshot is this call's only.
 */
typedef uint32_t stack_waiting_go_on(void *arg, const struct wire_snapshot *snapshot,
				     bool must_end);
/* Whether it still makes sense to wait for the table of a slot. */
typedef bool stack_waiting_is_pending(void *arg, uint32_t slot);

struct stack_waiting *stack_waiting_new(size_t max_bytes, stack_waiting_go_on *go_on,
					stack_waiting_is_pending *is_pending, void *arg);
void stack_waiting_free(struct stack_waiting *w); /* ends none of them */

/* Copies it. 0, or -ENOMEM. */
int stack_waiting_add(struct stack_waiting *w, const struct wire_snapshot *snapshot, uint32_t slot);
/* Goes on with those whose table is not pending any more. */
void stack_waiting_retry(struct stack_waiting *w);
/* Ends those that were taken before that time; processes that ended stay known while one waits. */
void stack_waiting_end_before(struct stack_waiting *w, uint64_t time_ns);
void stack_waiting_end(struct stack_waiting *w); /* all */
size_t stack_waiting_count(const struct stack_waiting *w);
/* When the first one was taken; UINT64_MAX: there is none. */
uint64_t stack_waiting_oldest_ns(const struct stack_waiting *w);

#endif

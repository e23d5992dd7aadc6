/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_UNWINDER_H
#define CULPRIT_COLLECT_STACKS_UNWINDER_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_python.h"
#include "bpf/wire_stacks.h"
#include "util/diag.h"

/*
 * The unwinder in the kernel: loading it, giving it files and their tables, draining the stacks
 * that it counted. bpf/wire_stacks.h says what all this is. Knows nothing of images or processes
 * beyond the numbers of the wire.
 */
struct unwinder;

struct unwinder_config {
	uint32_t files;		 /* the most that can have a slot */
	uint32_t rows;		 /* 4 bytes each, in chunks as they are used; rounded up to those */
	uint32_t stacks;	 /* distinct ones between two drains */
	uint32_t ring_bytes;	 /* a power of two, at least a page */
	uint32_t snapshot_bytes; /* the same */
	uint32_t codes;		 /* of Python: distinct ones until unwinder_forget_codes */
	uint32_t name_bytes;	 /* as ring_bytes: for what they are called */
	const char *types; /* kernel_types.h; NULL: all of the kernel's; for unwinder_new only */
	const struct wire_tick *tick; /* sampler_tick(); for unwinder_new only */
};

/*
 * Loads the program, attached to nothing. -EOPNOTSUPP: the machine is not x86-64, or the kernel is
 * older than Linux 6.1 or does not take the program; with the reason.
 */
int unwinder_new(const struct unwinder_config *config, struct unwinder **ret, struct diag *diag);
/* The sampler must be gone, or the program taken out of it. */
void unwinder_free(struct unwinder *u);
const void *unwinder_object(size_t *ret_size); /* as sampler_object(); NULL: there is none */

/* The programs, for the sampler: on events, and on the tick, -1 without one. */
int unwinder_program(const struct unwinder *u);
int unwinder_tick_program(const struct unwinder *u);

/* Shared with the program; arrays of as many as configured. */
uint32_t *unwinder_rows(struct unwinder *u); /* where unwinder_reach has made memory */
#define UNWINDER_RULES 65536
struct wire_unwind_rule *unwinder_rules(struct unwinder *u); /* so many */
/* Makes the memory of rows [first, first + count). 0 or -errno. */
int unwinder_reach(struct unwinder *u, uint32_t first, uint32_t count);

/* 0 or -errno: -E2BIG when there is no room. Slots of files that were dropped may be given to
 * others after unwinder_forget and an RCU grace period. */
int unwinder_put_file(struct unwinder *u, const struct wire_file *file, uint32_t slot);
void unwinder_drop_file(struct unwinder *u, const struct wire_file *file);
int unwinder_put_table(struct unwinder *u, uint32_t slot, const struct wire_unwind_table *table);
void unwinder_forget(struct unwinder *u);
int unwinder_put_python(struct unwinder *u, uint32_t number, const struct wire_python *python);
/* Codes get new numbers, and are reported again. */
void unwinder_forget_codes(struct unwinder *u);
void unwinder_put_vdso(struct unwinder *u, uint32_t slot);

/*
 * Hands over what was counted since the last call: each key with its count, then each stack that
 * was the first of its key. A key's stack comes in this call, or in the next one if the program was
 * just working on it. Stacks are checked: their counts are within their ranges.
 */
struct unwinder_taker {
	void (*count)(void *arg, const struct wire_stack_key *key, uint32_t count);
	void (*counted)(void *arg); /* between the two */
	void (*stack)(void *arg, const struct wire_stack *stack);
	void (*snapshot)(void *arg, const struct wire_snapshot *snapshot);
	/* A code of Python; before any stack that has its number. Not checked. */
	void (*code)(void *arg, const struct wire_python_code *code, size_t size);
	void *arg;
};
/* The bytes of a stack's record, up to its last frame. */
static inline size_t unwinder_stack_bytes(const struct wire_stack *stack)
{
	size_t kept = stack->followed < WIRE_STACK_INNER + WIRE_STACK_OUTER
			      ? stack->followed
			      : WIRE_STACK_INNER + WIRE_STACK_OUTER;

	return offsetof(struct wire_stack, frame) +
	       (WIRE_STACK_KERNEL + kept) * sizeof(stack->frame[0]);
}
int unwinder_drain(struct unwinder *u, const struct unwinder_taker *taker);
/* Hands over the snapshots. The descriptor is readable when there are any. */
void unwinder_take_snapshots(struct unwinder *u, const struct unwinder_taker *taker);
int unwinder_snapshot_fd(const struct unwinder *u);

/* Sums over all CPUs since the start. */
void unwinder_count(const struct unwinder *u, struct wire_stack_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_HOST_H
#define CULPRIT_MICRO_INTERPRET_HOST_H

#include <stddef.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

/*
 * The interpreter in user space: the same source as in the kernel, over memory and code that the
 * caller provides, for as long as the caller wants. Hosts share nothing: each may be used by a
 * thread of its own.
 */
struct interpret_calls {
	void *context;
	/* Reads memory. Returns 0, or another value if the memory is not there. */
	int (*read)(void *context, void *to, size_t size, uint64_t address);
	const struct wire_strip *(*strip)(void *context, struct wire_strip_key key);
	const struct wire_micro *(*micro)(void *context, uint32_t index);
	/* Finds the mapping that holds an address: its slot (1 or more), its limits, and what to
	 * add to an address in it to get the file offset. Returns 0 or an enum wire_end. */
	int (*find)(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
		    uint64_t *ret_end, uint64_t *ret_shift);
	/* If not NULL, called for each transfer of control, and for each load from an address that
	 * is neither fixed nor relative to the stack pointer. */
	void (*transfer)(void *context, struct wire_place from, struct wire_place to);
	void (*load)(void *context, struct wire_place at, uint64_t address);
};

#define INTERPRET_HOST_WORDS_MAX (1u << 30)

/* A window that exceeds one of these ends with WIRE_END_STORES. */
struct interpret_limits {
	size_t words;	/* of 8 bytes, written by the window; take up to 128 bytes each */
	uint32_t turns; /* iterations of repeated string operations */
};

struct interpret_registers {
	uint64_t gpr[16]; /* in x86's order */
	uint64_t pc, fs_base;
	uint32_t flags;
};

struct interpret_state {
	struct interpret_registers registers;
	uint32_t known, flags_known; /* what is known: a bit per register; a mask of flags */
	uint64_t instructions;	     /* since the window began */
	struct wire_place place;     /* where pc is */
};

struct interpret_host;

/* calls is copied. limits NULL means the kernel's limits and overlay. 0, -EINVAL (limits of more
 * than INTERPRET_HOST_WORDS_MAX words or turns), -ENOMEM. */
int interpret_host_new(const struct interpret_calls *calls, const struct interpret_limits *limits,
		       struct interpret_host **ret);
void interpret_host_free(struct interpret_host *h);

/* Begins a window: forgets what the previous one wrote and knew, and its decoded code. */
void interpret_host_begin(struct interpret_host *h, const struct interpret_registers *registers);
/*
 * Interprets up to so many further instructions. Returns WIRE_END_FULL after all of them, else why
 * the window ended before. It may be continued after WIRE_END_FULL and, once the code has been
 * decoded, after WIRE_END_COLD. path, if not NULL, gets the address of each interpreted instruction
 * and of the one after the last.
 */
enum wire_end interpret_host_run(struct interpret_host *h, uint64_t instructions, uint64_t *path);

/* The current state of the window. */
void interpret_host_get(const struct interpret_host *h, struct interpret_state *ret);
/* Reads memory as the window sees it. 0, or -EFAULT if not all of it is known. */
int interpret_host_read(struct interpret_host *h, void *to, size_t size, uint64_t address);

#endif

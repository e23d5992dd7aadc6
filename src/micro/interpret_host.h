/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_HOST_H
#define CULPRIT_MICRO_INTERPRET_HOST_H

#include <stddef.h>
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

/*
 * The interpreter in user space: the kernel's own source, over memory and code that the caller
 * provides, for as long as the caller wants. Hosts share nothing: each may run in a thread of its
 * own.
 */
struct interpret_calls {
	void *context;
	/* Returns 0, or anything else for memory that is not there. */
	int (*read)(void *context, void *to, size_t size, uint64_t address);
	const struct wire_strip *(*strip)(void *context, struct wire_strip_key key);
	const struct wire_micro *(*micro)(void *context, uint32_t index);
	/* The mapping that holds an address: its slot (1 or more), limits and what to add to an
	 * address in it for the file offset. Returns 0 or an enum wire_end. */
	int (*find)(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
		    uint64_t *ret_end, uint64_t *ret_shift);
	/* Told, if not NULL: each transfer of control, and each load of an address that is neither
	 * fixed nor next to the stack pointer. */
	void (*transfer)(void *context, struct wire_place from, struct wire_place to);
	void (*load)(void *context, struct wire_place at, uint64_t address);
};

#define INTERPRET_HOST_WORDS_MAX (1u << 30)

/* Past one of these the window ends with WIRE_END_STORES. */
struct interpret_limits {
	size_t words; /* of eight bytes that the window writes; they take at most 128 bytes each */
	uint32_t turns; /* of repeated string operations */
};

struct interpret_registers {
	uint64_t gpr[16]; /* as x86 numbers them */
	uint64_t pc, fs_base;
	uint32_t flags;
};

struct interpret_state {
	struct interpret_registers registers;
	uint32_t known, flags_known; /* for certain: a bit a register, and flags in their places */
	uint64_t instructions;	     /* since the window began */
	struct wire_place place;     /* of pc */
};

struct interpret_host;

/* limits NULL: those of the kernel's windows, and their overlay. -EINVAL: more than WORDS_MAX, or
 * as many turns; -ENOMEM. */
int interpret_host_new(const struct interpret_calls *calls, const struct interpret_limits *limits,
		       struct interpret_host **ret);
void interpret_host_free(struct interpret_host *h);

/* Begins a window: forgets what the one before wrote, knew and had of decoded code. */
void interpret_host_begin(struct interpret_host *h, const struct interpret_registers *registers);
/*
 * Goes on with it for so many instructions; returns WIRE_END_FULL, or why it ended before. After
 * WIRE_END_FULL, and after WIRE_END_COLD when the code was decoded since, it may go on again. path,
 * if not NULL, gets the address of each instruction that was interpreted and of the one after.
 */
enum wire_end interpret_host_run(struct interpret_host *h, uint64_t instructions, uint64_t *path);

/* How the window stands. */
void interpret_host_get(const struct interpret_host *h, struct interpret_state *ret);
/* Memory as the window sees it; -EFAULT if not all of it is known. */
int interpret_host_read(struct interpret_host *h, void *to, size_t size, uint64_t address);

#endif

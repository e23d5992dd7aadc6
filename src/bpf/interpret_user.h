/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_INTERPRET_USER_H
#define CULPRIT_BPF_INTERPRET_USER_H

#include <stddef.h>
#include "bpf/wire_edges.h"

/*
 * The interpreter of edge samples in user space, for tests and fuzzing: the kernel's own source,
 * over memory and code that the caller provides. Not thread-safe.
 */
struct interpret_user {
	void *context;
	/* Returns 0, or anything else for memory that is not there. */
	int (*read)(void *context, void *to, size_t size, uint64_t address);
	const struct wire_strip *(*strip)(void *context, struct wire_strip_key key);
	const struct wire_micro *(*micro)(void *context, uint32_t index);
	/* The mapping that holds an address: its slot (1 or more), limits and what to add to an
	 * address in it for the file offset. Returns 0 or an enum wire_end. */
	int (*find)(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
		    uint64_t *ret_end, uint64_t *ret_shift);
};

struct interpret_registers {
	uint64_t gpr[16]; /* as x86 numbers them */
	uint64_t pc, fs_base;
	uint32_t flags;
};

/* What is known for certain at the end: a bit a register, and flags in their places. */
struct interpret_user_result {
	uint32_t known, flags_known;
};

/*
 * Interprets up to so many instructions, at most WIRE_WINDOW_INSTRUCTIONS. After it, registers are
 * the window's last. path gets the address of each instruction that was interpreted and of the one
 * after: WIRE_WINDOW_INSTRUCTIONS + 1 in all. ret_result and path may be NULL.
 */
void interpret_user(const struct interpret_user *user, struct interpret_registers *registers,
		    unsigned instructions, struct wire_window *ret,
		    struct interpret_user_result *ret_result, uint64_t *path);

#endif

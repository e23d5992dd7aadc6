/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_GO_FRAMES_H
#define CULPRIT_UNWIND_GO_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* In [start, end) the return address is depth bytes above the stack pointer. Non-zero ends it. */
typedef int go_frames_taker(void *arg, uint64_t start, uint64_t end, uint32_t depth);

/*
 * The frames of code from Go's compiler, by the steps in its table (unwind/go_table.h;
 * src/runtime/symtab.go and runtime2.go of Go). x86-64 only. Assembly is left out, since it may
 * move to other stacks, and so are functions whose records are invalid. In the table's order, which
 * is that of addresses. 0, what f returned, or -EBADMSG: it is no such table, or one whose
 * addresses only the loader knows.
 */
int go_frames_each(const void *table, size_t size, go_frames_taker *f, void *arg);

#endif

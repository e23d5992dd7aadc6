/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_ASK_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_ASK_H

#include <stdint.h>

#define KERNEL_SYMBOL_MAX 512 /* the kernel's KSYM_NAME_LEN */

/* A BPF program, or a trampoline. */
struct kernel_answer {
	uint64_t start, size;
	char name[KERNEL_SYMBOL_MAX];
};

/*
 * Reads what the kernel's "%pS" says of an address outside the core kernel. -ENOENT: the kernel has
 * no name for it; -EAGAIN: it is a module's, or something else that /proc/kallsyms knows better.
 */
int kernel_answer_parse(const char *text, uint64_t address, struct kernel_answer *ret);
/* That the kernel had no name for an address: image_kernel_unnamed() knows it from then on. */
struct image_kernel;
void kernel_note_unnamed(struct image_kernel *k, uint64_t address);

#endif

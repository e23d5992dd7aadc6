/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BENCH_MACHINE_LOOPS_H
#define CULPRIT_BENCH_MACHINE_LOOPS_H

#include <stdint.h>

/*
 * Loops whose time is known, as machine code between two labels. Each is a function of rounds (rdi)
 * and a buffer of 4 KB that holds a pointer to itself at its start (rsi); it may use the registers
 * that a caller does not expect back, which hold small numbers (rax 3, rcx 5, rdx 0, r8-r11 7).
 */
struct machine_loop {
	const char *name;
	const char *what; /* what binds it */
	void (*run)(uint64_t rounds, void *buffer);
	const uint8_t *begin, *end; /* of the loop proper */
};

#define MACHINE_LOOP_CODE(name, body)                                                              \
	__asm__(".pushsection .text\n.p2align 6\n.globl loop_" #name "\nloop_" #name ":\n"         \
		"mov $3,%eax\nmov $5,%ecx\nxor %edx,%edx\nmov $7,%r8d\nmov $7,%r9d\n"              \
		"mov $7,%r10d\nmov $7,%r11d\n.p2align 6\n.globl loop_" #name "_begin\nloop_" #name \
		"_begin:\n" body "\ndec %rdi\njnz loop_" #name "_begin\n.globl loop_" #name        \
		"_end\nloop_" #name "_end:\nret\n.popsection\n");                                  \
	extern const uint8_t loop_##name##_begin[], loop_##name##_end[];                           \
	void loop_##name(uint64_t rounds, void *buffer)

#define MACHINE_LOOP_ROW(name, what)                                             \
	{                                                                        \
#name, what, loop_##name, loop_##name##_begin, loop_##name##_end \
	}

#endif

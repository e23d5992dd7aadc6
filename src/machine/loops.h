/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LOOPS_H
#define CULPRIT_MACHINE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loops that each show one property of a core, as machine code between two labels: what the
 * collector times (collect/cost/core_measure.c) and the model simulates, so that the two can be
 * compared (measured.h). They are part of the program: no memory has to be made executable.
 *
 * Each is a function of rounds (rdi) and a buffer of 4 KB that holds a pointer to itself at its
 * start (rsi); it may use the caller-saved registers, which hold small numbers (rax 3, rcx 5, rdx
 * 0, r8-r11 7).
 */
typedef void machine_loop_run(uint64_t rounds, void *buffer);

struct machine_loop {
	const char *name; /* in the fact: a loop whose code changes gets a new one */
	const char *what; /* it shows */
	machine_loop_run *run;
	const uint8_t *begin, *end; /* of the loop proper */
};

#define MACHINE_LOOPS_MAX 48

/* The loops that a core is measured by, from 0; NULL after the last: none where they cannot run. */
const struct machine_loop *machine_loop_at(size_t index);

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

#define MACHINE_LOOP_4(x)  x "\n" x "\n" x "\n" x "\n"
#define MACHINE_LOOP_8(x)  MACHINE_LOOP_4(x) MACHINE_LOOP_4(x)
#define MACHINE_LOOP_16(x) MACHINE_LOOP_8(x) MACHINE_LOOP_8(x)

#endif

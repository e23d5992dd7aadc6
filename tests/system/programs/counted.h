/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * counted_work(n) returns hook(n + (n - 1) + ... + 1) + 1, for n > 0. Its code is known byte by
 * byte, so that a copy with counters can be made of it by hand (native_counted.c).
 */
#ifdef __cplusplus
extern "C" {
#endif
extern long (*volatile counted_hook)(long);
long counted_work(long n);
#ifdef __cplusplus
}
#endif

#define COUNTED_WORK                                     \
	__asm__(".text\n"                                \
		".p2align 6\n"                           \
		".globl counted_work\n"                  \
		".type counted_work, @function\n"        \
		"counted_work:\n"                        \
		".cfi_startproc\n"                       \
		"push %rbx\n"                            \
		".cfi_def_cfa_offset 16\n"               \
		".cfi_offset %rbx, -16\n"                \
		"mov %rdi, %rbx\n"                       \
		"xor %eax, %eax\n"                       \
		".byte 0x0f, 0x1f, 0x44, 0, 0\n"         \
		"1: add %rbx, %rax\n"                    \
		"sub $1, %rbx\n"                         \
		"jne 1b\n"                               \
		"mov %rax, %rdi\n"                       \
		"call counted_call\n"                    \
		"add $1, %rax\n"                         \
		"pop %rbx\n"                             \
		".cfi_def_cfa_offset 8\n"                \
		"ret\n"                                  \
		".cfi_endproc\n"                         \
		".size counted_work, . - counted_work\n" \
		"counted_call:\n"                        \
		".cfi_startproc\n"                       \
		"jmp *counted_hook(%rip)\n"              \
		".cfi_endproc\n")

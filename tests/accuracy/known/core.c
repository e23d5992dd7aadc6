/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the core itself makes instructions wait for. */
#include <sys/mman.h>
#include "known.h"

/* Each product needs the one before. */
KNOWN_CASE static void known_dependency(uint64_t rounds)
{
	uint64_t x = 3;

	__asm__ volatile("1:\n\t"
			 ".rept 8\n\t" BLAME "imul %1, %0\n\t"
			 ".endr\n\t"
			 "dec %2\n\t"
			 "jnz 1b\n\t"
			 : "+r"(x), "+r"(rounds)
			 : "r"(rounds)
			 : "cc");
}

/* Scattered bits: none needs another's result, but there is one unit that makes them. */
KNOWN_CASE static void known_port(uint64_t rounds)
{
	if (!__builtin_cpu_supports("bmi2"))
		return;
	__asm__ volatile("1:\n\t" BLAME "pdep %%rsi, %%rsi, %%rax\n\t" BLAME
			 "pdep %%rsi, %%rsi, %%rdx\n\t" BLAME "pdep %%rsi, %%rsi, %%rcx\n\t" BLAME
			 "pdep %%rsi, %%rsi, %%r8\n\t" BLAME "pdep %%rsi, %%rsi, %%r9\n\t" BLAME
			 "pdep %%rsi, %%rsi, %%r10\n\t" BLAME "pdep %%rsi, %%rsi, %%r11\n\t" BLAME
			 "pdep %%rsi, %%rsi, %%rdi\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 : "+r"(rounds)
			 :
			 : "rax", "rdx", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

/* Divisions that need nothing of one another. */
KNOWN_CASE static void known_divider(uint64_t rounds)
{
	__asm__ volatile("movl $7, %%esi\n\t"
			 "1:\n\t"
			 ".rept 4\n\t"
			 "movabs $0x123456789abcdef, %%rax\n\t"
			 "xorl %%edx, %%edx\n\t" BLAME "divq %%rsi\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 : "+r"(rounds)
			 :
			 : "rax", "rdx", "rsi", "cc");
}

/* As many instructions at a time as the core can take, none waits for another. */
KNOWN_CASE static void known_issue_width(uint64_t rounds)
{
	rounds *= 8;
	__asm__ volatile("1:\n\t"
			 ".rept 15\n\t" BLAME "lea 1(%%rdi), %%eax\n\t" BLAME "nop\n\t" BLAME
			 "nop\n\t" BLAME "lea 1(%%rdi), %%ecx\n\t" BLAME "nop\n\t" BLAME "nop\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 : "+r"(rounds)
			 :
			 : "rax", "rcx", "rdx", "rsi", "cc");
}

/*
 * A branch that random bits decide, 64 of a product: where each bit is of a product of its own, the
 * multiplication is a second bottleneck, of about as many cycles.
 */
KNOWN_CASE static void known_branch_mispredict(uint64_t rounds)
{
	uint64_t x = 88172645463325252u, a = 6364136223846793005u;

	rounds = rounds / 8 + 1;
	__asm__ volatile("1:\n\t"
			 "mov %0, %%rax\n\t"
			 "mul %2\n\t"
			 "lea 1442695(%%rax), %0\n\t"
			 "xor %%rdx, %%rax\n\t"
			 "mov $64, %%ecx\n\t"
			 "2:\n\t"
			 "shr %%rax\n\t" BLAME "jc 3f\n\t"
			 "inc %%rdx\n\t"
			 "3:\n\t"
			 "dec %%ecx\n\t"
			 "jnz 2b\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 : "+r"(x), "+r"(rounds)
			 : "r"(a)
			 : "rax", "rcx", "rdx", "cc");
}

KNOWN_CASE static void known_lock(uint64_t rounds)
{
	uint64_t word = 0;

	__asm__ volatile("1:\n\t" BLAME "lock addq $1, %0\n\t"
			 "inc %%rax\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 : "+m"(word), "+r"(rounds)
			 :
			 : "rax", "cc", "memory");
}

KNOWN_CASE static void known_fence(uint64_t rounds)
{
	uint64_t word = 0;

	__asm__ volatile("1:\n\t"
			 "movq %1, %0\n\t" BLAME "mfence\n\t"
			 "inc %%rax\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 : "+m"(word), "+r"(rounds)
			 :
			 : "rax", "cc", "memory");
}

/* Eight bytes are read of which the last two are still in the store buffer. */
KNOWN_CASE static void known_store_forward(uint64_t rounds)
{
	uint64_t words[2] = {0, 0};

	__asm__ volatile("1:\n\t" BLAME "movw %%ax, 6(%0)\n\t" BLAME "movq (%0), %%rax\n\t"
			 "inc %%rax\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 : "+r"((uint64_t *){words}), "+r"(rounds)
			 :
			 : "rax", "cc", "memory");
}

/*
 * Microcode has to decide a masked load whose other half lies in a page that must not be read: so
 * on every core with AVX. (Numbers too small to be normal cost nothing on some.)
 */
KNOWN_CASE static void known_assist(uint64_t rounds)
{
	static const int mask[8] = {-1, -1};
	static char *memory;

	memory = memory ? memory : known_memory_new(8192, 0);
	if (!__builtin_cpu_supports("avx") || mprotect(memory + 4096, 4096, PROT_NONE) != 0)
		return;
	rounds = rounds / 16 + 1;
	__asm__ volatile("vmovups %2, %%ymm0\n\t"
			 "1:\n\t" BLAME "vmaskmovps (%0), %%ymm0, %%ymm1\n\t"
			 "inc %%rax\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 "vzeroupper\n\t"
			 : "+r"((char *){memory + 4088}), "+r"(rounds)
			 : "m"(mask)
			 : "rax", "xmm0", "xmm1", "cc", "memory");
}

const struct known_case known_core[] = {
	{"dependency", known_dependency},
	{"port", known_port},
	{"divider", known_divider},
	{"issue_width", known_issue_width},
	{"branch_mispredict", known_branch_mispredict},
	{"lock", known_lock},
	{"fence", known_fence},
	{"store_forward", known_store_forward},
	{"assist", known_assist},
	{NULL, NULL},
};

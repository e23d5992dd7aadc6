/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the way of instructions into the core makes wait for. */
#include "known.h"

/*
 * Code that fits in the first cache but not in any cache of decoded instructions, and more
 * instructions to a byte than decoders take: on some cores because of their number, on others
 * because of a prefix that changes an instruction's length.
 */
KNOWN_CASE static void known_front_end(uint64_t rounds)
{
	rounds = rounds / 32 + 1;
	__asm__ volatile("1:\n\t"
			 ".rept 1700\n\t"
			 "xchg %%ax, %%ax\n\t"
			 "xchg %%ax, %%ax\n\t"
			 "xchg %%ax, %%ax\n\t"
			 "testw $0x1234, %%si\n\t"
			 "xchg %%ax, %%ax\n\t"
			 "nop\n\t"
			 "nop\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 : "+r"(rounds)
			 :
			 : "cc");
}

/*
 * Jumps from line to line, all 64 of a page in an order without a pattern (line k goes on with
 * (13 k + 7) mod 64) and then the next page: 32768 lines are 2 MB, whose 512 pages change seldom.
 */
KNOWN_CASE static void known_icache(uint64_t rounds)
{
	__asm__ volatile(".p2align 12\n\t"
			 "1:\n\t"
			 ".set known_i, 0\n\t"
			 ".rept 32768\n\t"
			 ".set known_line, (13 * (known_i & 63) + 7) & 63\n\t"
			 ".set known_page, (known_i >> 6) - (known_line == 0)\n\t"
			 ".set known_next, ((known_page & 511) << 6) + known_line\n\t" BLAME
			 "decq %0\n\t"
			 "jz 2f\n\t" BLAME "jmp 1b + 64 * known_next\n\t"
			 ".p2align 6, 0x90\n\t"
			 ".set known_i, known_i + 1\n\t"
			 ".endr\n\t"
			 "2:\n\t"
			 : "+r"(rounds)
			 :
			 : "cc");
}

/* Jumps to lines in pages of their own, with no pattern: 4096 pages, whose lines are 256 KB. */
KNOWN_CASE static void known_itlb(uint64_t rounds)
{
	__asm__ volatile(".p2align 12\n\t"
			 "1:\n\t"
			 ".set known_i, 0\n\t"
			 ".rept 4096\n\t"
			 ".set known_next, (1229 * known_i + 77) %% 4096\n\t" BLAME "decq %0\n\t"
			 "jz 2f\n\t" BLAME
			 "jmp 1b + 4096 * known_next + 64 * (known_next %% 61)\n\t"
			 ".set known_i, known_i + 1\n\t"
			 ".org 1b + 4096 * known_i + 64 * (known_i %% 61), 0x90\n\t"
			 ".endr\n\t"
			 "2:\n\t"
			 : "+r"(rounds)
			 :
			 : "cc");
}

const struct known_case known_code[] = {
	{"front_end", known_front_end},
	{"icache", known_icache},
	{"itlb", known_itlb},
	{NULL, NULL},
};

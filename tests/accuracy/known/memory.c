/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What memory makes wait for. */
#include "known.h"

/*
 * A ring of pointers through count places that are stride bytes apart, in the order of a
 * permutation (multiplication in a power of two), moved by a line now and then so that all sets of
 * a cache are used.
 */
static void **make_ring(size_t count, size_t stride, int huge)
{
	char *memory = known_memory_new(count * stride, huge);
	uint64_t i = 0;

	for (size_t n = 0; n < count; n++) {
		uint64_t next = (i * 1664525u + 1013904223u) & (count - 1);
		size_t skew = stride > 64 ? i % (stride / 64) * 64 : 0;
		size_t next_skew = stride > 64 ? next % (stride / 64) * 64 : 0;

		*(void **)(memory + i * stride + skew) = memory + next * stride + next_skew;
		i = next;
	}
	return (void **)memory;
}

#define CHASE(p, rounds)                                   \
	__asm__ volatile("1:\n\t" BLAME "mov (%0), %0\n\t" \
			 "inc %%rax\n\t"                   \
			 "dec %1\n\t"                      \
			 "jnz 1b\n\t"                      \
			 : "+r"(p), "+r"(rounds)           \
			 :                                 \
			 : "rax", "cc", "memory")

/* Half a megabyte is past the first cache, 2 MB past the second, 512 MB past all. */
KNOWN_CASE static void known_dcache_2(uint64_t rounds)
{
	static void **p;

	p = p ? p : make_ring(1 << 13, 64, 1);
	rounds *= 4;
	CHASE(p, rounds);
}

KNOWN_CASE static void known_dcache_3(uint64_t rounds)
{
	static void **p;

	p = p ? p : make_ring(1 << 15, 64, 1);
	rounds *= 2;
	CHASE(p, rounds);
}

KNOWN_CASE static void known_dcache_4(uint64_t rounds)
{
	static void **p;

	p = p ? p : make_ring(1 << 23, 64, 1);
	CHASE(p, rounds);
}

/* One line in each of 8192 pages of 4 KB: the lines fit in the second cache, their pages nowhere.
 */
KNOWN_CASE static void known_dtlb(uint64_t rounds)
{
	static void **p;

	p = p ? p : make_ring(1 << 13, 4096, 0);
	CHASE(p, rounds);
}

/* Stores all over 256 MB, whose addresses are known long before: nothing but room is waited for. */
KNOWN_CASE static void known_store_buffer(uint64_t rounds)
{
	static char *memory;
	uint64_t x = 1;

	memory = memory ? memory : known_memory_new((size_t)1 << 28, 1);
	__asm__ volatile("1:\n\t"
			 "imul $1664525, %1, %1\n\t"
			 "add $1013904223, %1\n\t"
			 "mov %1, %%rax\n\t"
			 "and $0xfffffc0, %%eax\n\t" BLAME "mov %1, (%0,%%rax)\n\t"
			 "dec %2\n\t"
			 "jnz 1b\n\t"
			 : "+r"(memory), "+r"(x), "+r"(rounds)
			 :
			 : "rax", "cc", "memory");
}

const struct known_case known_memory[] = {
	{"dcache_2", known_dcache_2},	      {"dcache_3", known_dcache_3},
	{"dcache_4", known_dcache_4},	      {"dtlb", known_dtlb},
	{"store_buffer", known_store_buffer}, {NULL, NULL},
};

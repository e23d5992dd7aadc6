/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * rounds LONG SHORT: loops of known iterations. long_loop makes LONG of them at once, each waiting
 * for a chain of multiplications; short_loop makes 2000 each time that it is called, SHORT in all.
 */
#include <stdint.h>
#include <stdlib.h>

#define ONCE 2000

static volatile uint64_t result;

__attribute__((noinline, noclone)) static void long_loop(uint64_t rounds)
{
	uint64_t product = 3;

	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("imul $5, %0, %0\n\timul $7, %0, %0" : "+r"(product));
	result = product;
}

__attribute__((noinline, noclone)) static void short_loop(uint64_t rounds)
{
	uint64_t product = 3;

	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("imul $5, %0, %0\n\timul $7, %0, %0" : "+r"(product));
	result = product;
}

int main(int argc, char **argv)
{
	uint64_t left = argc > 2 ? strtoull(argv[2], NULL, 0) / ONCE : 0;

	long_loop(argc > 1 ? strtoull(argv[1], NULL, 0) : 0);
	while (left--)
		short_loop(ONCE);
	return 0;
}

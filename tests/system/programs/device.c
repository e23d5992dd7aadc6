/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * device [memory]: branches on what it reads in a mapping that the kernel marks as a device's (the
 * page of the vDSO's data, which every process has), or in its own memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned look(const volatile unsigned *p, unsigned n)
{
	unsigned odd = 0;

	for (unsigned i = 0; i < n; i++)
		if (p[8 + (i & 7)] & 1) {
			__asm__ volatile("nop"); /* a branch, not arithmetic */
			odd++;
		}
	return odd;
}

int main(int argc, char **argv)
{
	static unsigned memory[16];
	const volatile unsigned *p = argc > 1 ? memory : NULL;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned sum = 0;

	(void)argv;
	while (!p && f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar]"))
			p = (const volatile unsigned *)(uintptr_t)strtoull(line, NULL, 16);
	if (!p)
		return 77;
	for (int i = 0; i < 600; i++)
		sum += look(p, 1000000);
	printf("%u\n", sum);
	return 0;
}

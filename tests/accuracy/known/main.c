/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* known CASE SECONDS: runs one case for so long, of processor time (what a busy machine gives it
 * must be enough to judge by), and prints the ns of a round. Without arguments: their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "known.h"

void *known_memory_new(size_t bytes, int huge)
{
	size_t align = (size_t)2 << 20;
	char *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED) {
		perror("known: mmap");
		exit(1);
	}
	p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return memset(p, 0, bytes);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct known_case *tables[] = {known_core, known_code, known_memory, known_kernel};

	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct known_case *c = tables[t]; c->name; c++) {
			double begin;
			uint64_t calls = 0;

			if (argc < 3) {
				puts(c->name);
				continue;
			}
			if (strcmp(c->name, argv[1]) != 0)
				continue;
			c->run(1); /* makes what it needs */
			begin = now_s();
			do {
				c->run(100000);
				calls++;
			} while (now_s() - begin < atof(argv[2]));
			printf("%g\n", (now_s() - begin) * 1e4 / (double)calls);
			return 0;
		}
	return argc < 3 ? 0 : 2;
}

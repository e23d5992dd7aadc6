/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * deeds PAGES SLEEPS CALLS: touches so many new pages, gives up the processor so often, and makes
 * the system call getpriority so often.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include "spin.h"

#define PAGE 4096

__attribute__((noinline, noclone)) static void touch_pages(volatile char *at, size_t count)
{
	for (size_t i = 0; i < count; i++)
		at[i * PAGE] = 1;
}

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int sleeps = argc > 2 ? atoi(argv[2]) : 0, calls = argc > 3 ? atoi(argv[3]) : 0;
	char *memory;

	if (pages) {
		memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		/* Each page is to fault by itself. */
		if (memory == MAP_FAILED || madvise(memory, pages * PAGE, MADV_NOHUGEPAGE))
			return 1;
		touch_pages(memory, pages);
	}
	for (int i = 0; i < sleeps; i++)
		usleep(100);
	for (int i = 0; i < calls; i++)
		getpriority(PRIO_PROCESS, 0);
	return 0;
}

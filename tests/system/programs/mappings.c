/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * mappings COUNT US: maps two pages of its own code COUNT times over, in turns so that the kernel
 * cannot merge them, prints a line, waits for the file $WAIT_FOR if that is set, and spins in each
 * of them: US in an even one, 3 * US in an odd one. Prints the processor time of both, in ns.
 */
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include "spin.h"

#define PAGE 4096

/* Each in a page of its own, and without anything that depends on where it is. */
#define DEFINE_PAGE(name)                                                                      \
	__attribute__((noinline, noclone, aligned(PAGE), cf_check)) void name(uint64_t ticks); \
	__attribute__((noinline, noclone, aligned(PAGE), cf_check)) void name(uint64_t ticks)  \
	{                                                                                      \
		uint64_t begin = __rdtsc();                                                    \
                                                                                               \
		while (__rdtsc() - begin < ticks)                                              \
			;                                                                      \
	}

DEFINE_PAGE(page_even)
DEFINE_PAGE(page_odd)

extern const char __executable_start[];

/* Where in the file a function is: what the headers say of the segment that holds it. */
static off_t file_offset(uintptr_t address)
{
	const ElfW(Ehdr) *e = (const void *)__executable_start;
	const ElfW(Phdr) *p = (const void *)(__executable_start + e->e_phoff);
	uintptr_t at = address - (uintptr_t)__executable_start;

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && at - p[i].p_vaddr < p[i].p_filesz)
			return (off_t)(p[i].p_offset + (at - p[i].p_vaddr));
	return -1;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	uint64_t us = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	uint64_t spent[2] = {0};
	uintptr_t pages[2] = {(uintptr_t)page_even, (uintptr_t)page_odd};
	uint64_t ticks = (uint64_t)(ticks_a_ns() * 1e3) * us;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *base = mmap(NULL, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || base == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < count; i++) {
		if (mmap(base + i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 file_offset(pages[i % 2])) == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
	}
	puts("mapped");
	fflush(stdout);
	if (getenv("WAIT_FOR"))
		while (access(getenv("WAIT_FOR"), F_OK))
			usleep(10000);
	for (size_t i = 0; i < count; i++) {
		void (*run)(uint64_t);
		void *at = base + i * PAGE;

		memcpy(&run, &at, sizeof(run));
		uint64_t begin = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);

		run(i % 2 ? 3 * ticks : ticks);
		spent[i % 2] += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	}
	printf("%llu %llu\n", (unsigned long long)spent[0], (unsigned long long)spent[1]);
	return 0;
}

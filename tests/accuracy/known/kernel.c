/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the kernel is waited for. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include "known.h"

/* Each store is the first to its page. */
KNOWN_CASE static void known_page_fault(uint64_t rounds)
{
	static char *memory;
	size_t size = (size_t)1 << 24;

	memory = memory ? memory : known_memory_new(size, 0);
	for (uint64_t i = 0; i < rounds / 10000 + 1; i++) {
		char *p = memory;
		uint64_t pages = size / 4096;

		madvise(memory, size, MADV_DONTNEED);
		__asm__ volatile("1:\n\t" BLAME "movb $1, (%0)\n\t"
				 "add $4096, %0\n\t"
				 "dec %1\n\t"
				 "jnz 1b\n\t"
				 : "+r"(p), "+r"(pages)
				 :
				 : "cc", "memory");
	}
}

KNOWN_CASE static void known_syscall(uint64_t rounds)
{
	__asm__ volatile("1:\n\t"
			 "mov %1, %%eax\n\t" BLAME "syscall\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 : "+r"(rounds)
			 : "i"(SYS_getppid)
			 : "rax", "rcx", "r11", "cc", "memory");
}

const struct known_case known_kernel[] = {
	{"page_fault", known_page_fault},
	{"syscall", known_syscall},
	{NULL, NULL},
};

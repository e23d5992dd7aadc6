/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * scatter SECONDS (of processor time): runs through 16 MiB of instructions without a loop, again
 * and again, so that hardly two samples have the same address.
 */
#include <sys/mman.h>
#include "spin.h"

#define SIZE (16u << 20)

int main(int argc, char **argv)
{
	uint64_t end = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) +
		       (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	unsigned char *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	if (code == MAP_FAILED)
		return 1;
	/* inc %eax, and a return at the end. */
	for (size_t i = 0; i + 1 < SIZE; i += 2) {
		code[i] = 0xff;
		code[i + 1] = 0xc0;
	}
	code[SIZE - 1] = code[SIZE - 2] = 0x90;
	code[SIZE - 2] = 0xc3;
	memcpy(&run, &code, sizeof(code));
	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		run();
	return 0;
}

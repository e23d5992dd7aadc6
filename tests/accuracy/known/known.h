/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Programs with one known bottleneck each. A case is a function of which nearly all time is one
 * loop in assembly; BLAME() before an instruction marks it as one that may rightly be blamed, by
 * its address in the section .known (the programs are linked at fixed addresses).
 */
#ifndef KNOWN_H
#define KNOWN_H

#include <stddef.h>
#include <stdint.h>

#define BLAME	   "771: .pushsection .known,\"a\"; .quad 771b; .popsection\n\t"
#define KNOWN_CASE __attribute__((noinline, noclone, aligned(64)))

/* Each runs for about rounds microseconds, at least. */
struct known_case {
	const char *name;
	void (*run)(uint64_t rounds);
};
extern const struct known_case known_core[], known_code[], known_memory[], known_kernel[];

/* Zeroed; pages of 2 MB if huge, of 4 KB if not. Ends the program when there is no memory. */
void *known_memory_new(size_t bytes, int huge);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * branches COUNT [LIBRARY]: COUNT times a conditional branch that is taken in 25, 50 and 90 of 100
 * cases, by independent random numbers, and an indirect call to three targets in the proportion of
 * 1 : 2 : 3. With LIBRARY (this file as a shared library) the one there is run. The branches are
 * where the symbols branch_25, branch_50, branch_90 and branch_call are.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* branch_N: taken when rdi is below N. */
#define BRANCH(n)                                    \
	__asm__(".text\n"                            \
		".globl run_" #n ", branch_" #n "\n" \
		".type run_" #n ", @function\n"      \
		".type branch_" #n ", @notype\n"     \
		"run_" #n ": .cfi_startproc\n"       \
		"	cmpq	$" #n ", %rdi\n"     \
		"	movl	$1, %eax\n"                   \
		"branch_" #n ":\n"                   \
		"	jb	1f\n"                           \
		"	movl	$3, %eax\n"                   \
		"1:	ret\n"                           \
		".cfi_endproc\n"                     \
		".size run_" #n ", . - run_" #n "\n")

BRANCH(25);
BRANCH(50);
BRANCH(90);

/* Calls the function in rdi. */
__asm__(".globl run_call, branch_call, target_0, target_1, target_2\n"
	".type run_call, @function\n"
	"run_call: .cfi_startproc\n"
	"	subq	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"branch_call:\n"
	"	call	*%rdi\n"
	"	addq	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size run_call, . - run_call\n"
	"target_0: movl $1, %eax\n"
	"	ret\n"
	"target_1: movl $2, %eax\n"
	"	ret\n"
	"target_2: movl $3, %eax\n"
	"	ret\n");

int run_25(uint64_t below), run_50(uint64_t below), run_90(uint64_t below);
int run_call(int (*target)(void));
int target_0(void), target_1(void), target_2(void);
int run_branches(uint64_t count);

/* splitmix64 (Steele et al. 2014) */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

int run_branches(uint64_t count)
{
	static int (*const targets[6])(void) = {target_0, target_1, target_1,
						target_2, target_2, target_2};
	uint64_t state = 1;
	int sum = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t n = draw(&state);

		sum += run_25((n & 0xffff) % 100);
		sum += run_50((n >> 16 & 0xffff) % 100);
		sum += run_90((n >> 32 & 0xffff) % 100);
		sum += run_call(targets[(n >> 48) % 6]);
	}
	return sum;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int (*run)(uint64_t) = run_branches;
	void *library, *symbol;

	if (argc > 2) {
		library = dlopen(argv[2], RTLD_NOW);
		symbol = library ? dlsym(library, "run_branches") : NULL;
		if (!symbol) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		memcpy(&run, &symbol, sizeof(run));
	}
	printf("%d\n", run(count));
	return 0;
}
#endif

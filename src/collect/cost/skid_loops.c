/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * In assembly, because the place of every instruction counts. What surrounds the stalled one is
 * independent of it and short, so nothing else binds; the loops run in a few bytes of one page.
 */
#include "collect/cost/skid_loops.h"

#ifdef __x86_64__

/* A function of rounds (rdi) and ring (rsi), with labels: the loop, its end, places 0 to 2. */
#define SKID_BEGIN(name)                                                                     \
	".p2align 6\nskid_" name ":\nmov $3,%eax\nmov $5,%ecx\nxor %edx,%edx\nmov $7,%r8d\n" \
	"mov $9,%r9d\n.p2align 6\nskid_" name "_begin:\n"
#define SKID_END(name) "dec %rdi\njnz skid_" name "_begin\nskid_" name "_end:\nret\n"

/* clang-format off */
__asm__(
	".pushsection .text\n"
	SKID_BEGIN("dependency")
	"skid_dependency_0: imul %rax,%rax\n"
	"skid_dependency_1: lea 1(%r8),%r8\n"
	"skid_dependency_2: lea 1(%r9),%r9\n"
	SKID_END("dependency")

	SKID_BEGIN("division")
	"add $1000,%eax\nxor %edx,%edx\n"
	"skid_division_0: div %ecx\n"
	"skid_division_1: lea 1(%r8),%r8\n"
	"skid_division_2: lea 1(%r9),%r9\n"
	"lea 1(%r10),%r10\n"
	SKID_END("division")

	SKID_BEGIN("memory")
	"skid_memory_0: mov (%rsi),%rsi\n"
	"skid_memory_1: lea 1(%r8),%r8\n"
	"skid_memory_2: lea 1(%r9),%r9\n"
	"lea 1(%r10),%r10\n"
	SKID_END("memory")

	SKID_BEGIN("locked")
	"skid_locked_0: lock addl $1,8(%rsi)\n"
	"skid_locked_1: lea 1(%r8),%r8\n"
	"skid_locked_2: lea 1(%r9),%r9\n"
	"lea 1(%r10),%r10\n"
	SKID_END("locked")

	/* The high bits of a linear congruential generator are as good as random here; restarted
	 * each time with another seed, because a predictor learns 20,000 outcomes that repeat. */
	SKID_BEGIN("branch")
	"rdtsc\nshl $32,%rdx\nor %rdx,%rax\n"
	"movabs $6364136223846793005,%rcx\nimul %rcx,%rax\nimul %rcx,%rax\n"
	"skid_branch_loop: imul %rcx,%rax\n"
	"add $1442695041,%rax\n"
	"bt $62,%rax\n"
	"jc skid_branch_taken\n"
	"skid_branch_0: lea 1(%r8),%r8\n"
	"skid_branch_1: lea 1(%r9),%r9\n"
	"skid_branch_2: lea 1(%r10),%r10\n"
	"lea 1(%r11),%r11\n"
	"dec %rdi\njnz skid_branch_loop\n"
	"ret\n"
	"skid_branch_taken: lea 2(%r8),%r8\n"
	"skid_branch_taken_1: lea 2(%r9),%r9\n"
	"skid_branch_taken_2: lea 2(%r10),%r10\n"
	"lea 1(%r11),%r11\n"
	"dec %rdi\njnz skid_branch_loop\n"
	"skid_branch_end: ret\n"

	/* 48 one-byte instructions that need nothing but a slot. */
	SKID_BEGIN("width")
	".rept 48\nnop\n.endr\n"
	SKID_END("width")
	".popsection\n");
/* clang-format on */

#define SKID_NAMES(name)                                   \
	uint64_t skid_##name(uint64_t rounds, void *ring); \
	extern const char skid_##name##_begin[], skid_##name##_end[]
#define SKID_PLACES(name) extern const char skid_##name##_0[], skid_##name##_1[], skid_##name##_2[]
#define SKID_ROW(kind, name)                                                      \
	{                                                                         \
		kind, skid_##name, skid_##name##_begin, skid_##name##_end,        \
		{                                                                 \
			{                                                         \
				skid_##name##_0, skid_##name##_1, skid_##name##_2 \
			}                                                         \
		}                                                                 \
	}

SKID_NAMES(dependency);
SKID_NAMES(division);
SKID_NAMES(memory);
SKID_NAMES(locked);
SKID_NAMES(branch);
SKID_NAMES(width);
SKID_PLACES(dependency);
SKID_PLACES(division);
SKID_PLACES(memory);
SKID_PLACES(locked);
SKID_PLACES(branch);
extern const char skid_branch_taken[], skid_branch_taken_1[], skid_branch_taken_2[];

static const struct skid_loop loops[] = {
	SKID_ROW(MACHINE_SKID_DEPENDENCY, dependency),
	SKID_ROW(MACHINE_SKID_DIVISION, division),
	SKID_ROW(MACHINE_SKID_MEMORY, memory),
	SKID_ROW(MACHINE_SKID_LOCKED, locked),
	{MACHINE_SKID_BRANCH,
	 skid_branch,
	 skid_branch_begin,
	 skid_branch_end,
	 {{skid_branch_0, skid_branch_1, skid_branch_2},
	  {skid_branch_taken, skid_branch_taken_1, skid_branch_taken_2}}},
	{MACHINE_SKID_WIDTH, skid_width, skid_width_begin, skid_width_end, {{0}}},
};

const struct skid_loop *skid_loop_at(unsigned index)
{
	return index < sizeof(loops) / sizeof(*loops) ? &loops[index] : NULL;
}

#else

const struct skid_loop *skid_loop_at(unsigned index)
{
	(void)index;
	return NULL;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/culprits/data_footprint.h"
#include "cfg/cfg.h"
#include "cfg/loops.h"
#include "isa/operands.h"
#include "machine/simulate.h"
#include "util/arena.h"

/*
 * Why an instruction stalls: every possible reason, each with the cycles that it may explain and
 * the instruction to blame. Guilty until proven innocent (Anderson et al., SOSP 1997, section 6.3),
 * with rules for cores that execute out of order (doc/analysis.md, "Culprits").
 *
 * Works on plain arrays beside a struct cfg_function, so that tests can make them up.
 */

/* All causes: of enum culprit_cause, for scripts, for people, in bubbles. */
#define CULPRIT_LIST(X)                                                     \
	X(DCACHE, "dcache", "D-cache miss", 'd')                            \
	X(DTLB, "dtlb", "DTB miss", 'D')                                    \
	X(ICACHE, "icache", "I-cache miss", 'i')                            \
	X(ITLB, "itlb", "ITB miss", 'I')                                    \
	X(BRANCH_MISPREDICT, "branch_mispredict", "branch mispredict", 'p') \
	X(STORE_BUFFER, "store_buffer", "store buffer full", 'w')           \
	X(STORE_FORWARD, "store_forward", "store forwarding blocked", 'f')  \
	X(DIVIDER, "divider", "divider busy", 'v')                          \
	X(DEPENDENCY, "dependency", "operand not ready", 'o')               \
	X(PORT, "port", "execution ports busy", 'u')                        \
	X(FRONT_END, "front_end", "fetch and decode", 's')                  \
	X(LOCK, "lock", "locked operation", 'l')                            \
	X(FENCE, "fence", "fence", 'b')                                     \
	X(ASSIST, "assist", "microcode", 'm')                               \
	X(PAGE_FAULT, "page_fault", "page fault", 'P')                      \
	X(SYSCALL, "syscall", "system call", 'S')                           \
	X(INTERRUPTS_OFF, "interrupts_off", "interrupts off", 'x')          \
	X(UNEXPLAINED, "unexplained", "unexplained", '?')

#define CULPRIT_NUMBER(cause, ...) CULPRIT_##cause,
enum culprit_cause { CULPRIT_LIST(CULPRIT_NUMBER) CULPRIT_CAUSES };
/* The names for scripts, in that order, each followed by a space. */
#define CULPRIT_SPACED(cause, name, ...) name " "
#define CULPRIT_NAMES			 CULPRIT_LIST(CULPRIT_SPACED)

const char *culprit_name(enum culprit_cause c);	 /* "dcache": for scripts */
const char *culprit_title(enum culprit_cause c); /* "D-cache miss": for people */
char culprit_letter(enum culprit_cause c);	 /* 'd': in bubbles */

struct culprit {
	uint8_t cause; /* enum culprit_cause */
	uint8_t level; /* of dcache: the cache that had it at best, 2 or 3, or 4: memory; else 0 */
	uint8_t reg;   /* of dependency: the register (isa/operands.h), else ISA_REG_NONE */
	bool level_sure; /* told by the lines that the load goes to, not by how long it took */
	bool is_static;	 /* the core's own limits explain it: nothing missed or was mispredicted */
	/* Cycles per execution of the stalled instruction: those that nothing else explains, the
	 * most possible, and the share that the weight of the evidence gives it (by which the list
	 * is ordered). */
	double low, high, likely;
	uint64_t blame; /* the instruction that made it wait; ISA_NO_ADDRESS: none in particular */
};

/* The cycles of an instruction, as charge.h gathers them from the samples. */
struct culprit_site {
	double count;  /* executions; 0: never or not known, then it has no culprits */
	double doubt;  /* count may be off by this factor; 1: it is well known */
	double cycles; /* that it kept retirement waiting, per execution */
	double fresh;  /* of cycles: sampled at the instruction itself, as what ran before it is not
			  known (a caller, a callee that returned, one of several jumps): the
			  instruction that led here may have to answer for them */
};

/* What was counted besides time, by instruction: the most times that an event of this kind
 * happened, per execution; negative: the event was not sampled. */
struct culprit_events {
	double cache_misses, page_faults, branch_misses, icache_misses, dtlb_misses, itlb_misses;
};

/* How much code is in use around the function: what instruction caches must hold. */
struct culprit_footprint {
	double code_lines, code_pages; /* of 64 bytes, of 4096; that make up 99% of execution */
	bool known;
	double life;   /* of a line in the instruction cache: see line_life.h. 0: none stays */
	double cycles; /* that all of the selection took, in which other programs ran, too; 0: not
			  known */
};

/* Penalties (in cycles) and sizes of a core that bound the dynamic causes. */
struct culprit_limits {
	double l1, l2, l3, memory, page_walk, mispredict, store_forward_blocked, assist;
	double issue_width, icache_lines, itlb_pages, store_buffer;
	double decoded; /* operations that the cache of decoded ones holds */
	bool measured;	/* the core was measured, and the model fits it */
	double line_bytes, page_bytes;
	double cache_lines[3], dtlb_pages[2], dtlb_cycles; /* cycles: when only the second has it */
};
void culprit_limits_of(const struct machine_core *core, struct culprit_limits *ret);

/* All that the rules look at. Arrays are indexed as the function's instructions, blocks, edges. */
struct culprit_kinds;

struct culprit_view {
	const struct cfg_function *function;
	const struct isa_operands *operands;
	struct culprit_kinds *kinds;
	const struct machine_model *model;
	const struct machine_instruction *prepared; /* fused pairs marked */
	const struct machine_head *heads;	    /* cause: index in the function, -1: none */
	const double *expected; /* of each instruction at best: see best_case.h */
	const struct culprit_site *sites;
	const double *block_count, *edge_count;
	const bool *edge_known;		     /* there is evidence of this edge's share */
	const struct cfg_loops *loops;	     /* of the function's blocks; NULL: not known */
	const struct culprit_events *events; /* NULL: none was sampled beside time */
	const struct data_footprint *data;   /* of each instruction's load; NULL: not known */
	struct culprit_limits limits;
	struct culprit_footprint footprint;
	bool masks; /* as in struct charge_request */
};

struct culprit_list {
	struct culprit *list; /* the most likely first */
	uint32_t count;
	double gain; /* cycles per execution by which it was faster than the best case */
};

/*
 * The culprits of each instruction: ret has instruction_count entries, their lists are in the
 * arena. -ENOMEM.
 */
int culprits_find(const struct culprit_view *v, struct arena *memory, struct culprit_list *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_BUILD_H
#define CULPRIT_CFG_BUILD_H

#include "cfg/image.h"

/* A function's graph under construction: explore.c finds its instructions, tables.c the targets of
 * its indirect jumps, and assemble.c makes the graph. */

enum build_flag {
	BUILD_LEADER = 1,	/* a block starts here */
	BUILD_NO_RETURN = 2,	/* a call that does not return */
	BUILD_TAIL = 4,		/* a jump or conditional jump that leaves the function */
	BUILD_FALL_TAIL = 8,	/* another function begins after it */
	BUILD_RETURN_JUMP = 16, /* a jump that stands for a return */
	BUILD_LANDING = 32,
	BUILD_GOES_ON = 64, /* continues, in the kernel: ud2 (reported, resumed), hlt */
	BUILD_STOP = 128,
};

struct build_instruction {
	struct isa_instruction in;
	uint32_t flags;
	uint32_t order; /* index in the assembled list */
	uint32_t jump;	/* of an indirect jump: 1 + its index in jumps; else 0 */
};

struct build_run { /* consecutive instructions, decoded in one go */
	uint64_t start;
	uint32_t first, count;
};

enum build_jump_state { JUMP_UNKNOWN, JUMP_PROVEN, JUMP_INFERRED, JUMP_LEAVES };

/* A block that the answer for a jump depended on, as it was at that time. */
struct build_check {
	uint64_t start, end;
	uint32_t pred_count;
};

#define BUILD_CHECKS_MAX 48

struct build_jump { /* an indirect jump */
	uint32_t instruction;
	uint8_t state;	   /* enum build_jump_state */
	uint8_t why;	   /* enum cfg_reason, if the state is unknown */
	uint64_t table;	   /* address of its first entry; 0: not known */
	uint64_t *targets; /* ascending, distinct */
	uint32_t target_count;
	uint32_t check_count; /* above BUILD_CHECKS_MAX: checks is incomplete */
	struct build_check *checks;
};

struct build_slot {
	uint32_t generation, index;
};

struct cfg_builder {
	struct cfg_image *image;
	uint64_t entry;
	const struct cfg_place *place; /* of the entry; NULL: in no known place */
	struct build_instruction *list;
	struct build_run *runs;
	struct build_slot *slots; /* address -> index in list, open addressing */
	uint64_t *work, *landings;
	uint32_t *adopted; /* places of parts that were split off the function */
	struct build_jump *jumps;
	size_t count, room, run_count, run_room, slot_count, slot_room, work_count, work_room;
	size_t landing_count, landing_room, adopted_count, adopted_room, jump_count, jump_room;
	uint32_t generation;
	uint64_t foreign; /* number of instructions in other functions' ranges */
	uint32_t why[CFG_REASONS];
};

/* The index in list of the instruction at the address, or UINT32_MAX. */
uint32_t build_find(const struct cfg_builder *b, uint64_t address);
/* Resets the builder for a function. 0 or a negative errno. */
int build_start(struct cfg_builder *b, struct cfg_image *image, uint64_t entry);
/* Decodes all code reachable from the addresses in work. 0 or -ENOMEM. (explore.c) */
int build_explore(struct cfg_builder *b);
int build_push(struct cfg_builder *b, uint64_t address);

/* Where a jump from this function to target leads. */
enum build_way { WAY_INSIDE, WAY_LEAVES, WAY_NOWHERE };
enum build_way build_classify(struct cfg_builder *b, uint64_t target, bool adopt);

/* Makes a new function of what was found so far. (assemble.c) */
int build_assemble(struct cfg_builder *b, struct cfg_function **ret);

/*
 * Looks for the targets of the indirect jumps in the graph so far. *ret_more says that some were
 * found and must be explored. (tables.c)
 */
int build_resolve_jumps(struct cfg_builder *b, const struct cfg_function *f, bool *ret_more);

struct cfg_builder *cfg_builder_new(void);
void cfg_builder_free(struct cfg_builder *b);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_UNWIND_WALK_H
#define CULPRIT_UNWIND_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"

/*
 * Follows a stack in user space, using the copy made of it, with the steps of the in-kernel program
 * (bpf/unwind.h): stacks that the collector finishes, and those of recordings that have copies.
 */
struct unwind_walk {
	/* Memory of the process, its code too: 0, or an error if it cannot be read. */
	int (*read)(void *arg, void *to, uint32_t size, uint64_t address);
	/*
	 * Records a frame: pc is in the instruction that was interrupted, or that called (see
	 * unwind_frame_pc). Gives its rule, NULL where only the frame pointer may help. -1, or the
	 * reason to end there.
	 */
	int (*enter)(void *arg, uint64_t pc, bool called, const struct wire_unwind_rule **ret);
	/* Whether pc is in code that was made at run time and that read cannot have; NULL: there is
	 * no such code. */
	bool (*is_unseen)(void *arg, uint64_t pc);
	void *arg;
};

/* Where a frame that was entered is. What a signal handler returns to called nothing: the frame is
 * where that begins, and pc is the byte before. */
static inline uint64_t unwind_frame_pc(uint64_t pc, bool called,
				       const struct wire_unwind_rule *rule)
{
	return pc + (called && rule && rule->flags & WIRE_UNWIND_SIGNAL);
}

/* From the frame of state out, frames_max at most. Returns an enum wire_stack_end, or enter's. */
int unwind_walk(const struct unwind_walk *walk, struct wire_unwind_state *state,
		uint32_t frames_max);

/* The name of an end in the database's counters ("stacks.end.NAME"). */
const char *unwind_end_name(unsigned end);
/* What it means, for people; NULL of a complete stack. */
const char *unwind_end_text(unsigned end);

#endif

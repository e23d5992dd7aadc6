/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_PATHS_H
#define CULPRIT_INSTRUMENT_PATHS_H

#include "instrument/plan.h"
#include "paths/numbering.h"

/*
 * Counting the paths through a function (paths/numbering.h) by its copy. Each thread's table has,
 * in front of all counters, where the thread is in the path that it is on, and a stack of the paths
 * that it is on in the callers. doc/paths.md says what is done where, and why a path that is left
 * in any way is never taken for another.
 */

/* Of every table; in front are the slots of gates. */
enum instrument_paths_slot {
	/* Low half: the first slot of the function, and its register; high half: the call that the
	 * thread is in, by a number of its own, or 0. */
	INSTRUMENT_PATHS_NOW = 4,
	INSTRUMENT_PATHS_STACK_POINTER, /* at that call */
	INSTRUMENT_PATHS_DEPTH,		/* bytes of the stack of paths that are in use */
	INSTRUMENT_PATHS_LEFT,		/* counts paths that were left otherwise than in a call */
	INSTRUMENT_PATHS_LOST,		/* counts calls that the stack has no room for */
	INSTRUMENT_PATHS_STACK = 12,	/* the slots before it are 0 */
};

/* One of the stack of paths: for each function that has been entered and not left. */
struct instrument_paths_frame {
	uint64_t now, stack_pointer; /* of its caller, as above */
	uint64_t entered_at;	     /* stack pointer; 0: it is not complete */
};

#define INSTRUMENT_PATHS_FRAMES_MAX 16384
#define INSTRUMENT_PATHS_FIRST_SLOT (INSTRUMENT_PATHS_STACK + 3 * INSTRUMENT_PATHS_FRAMES_MAX)
/* Instead of a slot and a register: how the path began was not seen. */
#define INSTRUMENT_PATHS_UNKNOWN (1u << 30)

/* What is done at an edge of a plan. */
enum instrument_step {
	INSTRUMENT_STEP_ENTER,	/* the function is entered */
	INSTRUMENT_STEP_LAND,	/* ... by the unwinder */
	INSTRUMENT_STEP_RETURN, /* a call comes back */
	INSTRUMENT_STEP_FLOW,
	INSTRUMENT_STEP_EXIT, /* the function is left: its path is counted */
	INSTRUMENT_STEP_STOP, /* by an instruction that nothing follows */
	INSTRUMENT_STEP_LEFT, /* by what a call does */
};

/*
 * The slots of a function are: one for each path, then one for paths whose beginning was not seen,
 * then one for each call, which counts nothing, and whose number is that of the call.
 */
struct instrument_paths {
	struct cfg_graph *graph; /* nodes and edges of the plan, with its outside as the entry */
	struct paths_numbering *numbering;
	uint8_t *steps;	    /* of each edge: enum instrument_step */
	uint32_t *calls;    /* of each block that ends in a call: its slot in the function's */
	uint64_t bytes_max; /* of inserted code */
	/* Of each edge, for the numbering. */
	uint64_t *weights;
	uint8_t *traits;
};

void instrument_paths_free(struct instrument_paths *p); /* NULL is fine */

enum instrument_path_end {
	INSTRUMENT_PATH_RETURN, /* or a jump out of the function */
	INSTRUMENT_PATH_BACK,	/* by a back edge */
	INSTRUMENT_PATH_CUT,	/* by an edge that was cut as there were too many paths */
	INSTRUMENT_PATH_LEFT,	/* out of a call that may return */
	INSTRUMENT_PATH_CALL,	/* in a call that does not return, or by an instruction */
};

struct instrument_path {
	uint32_t *blocks; /* as many as the plan has nodes have room */
	uint32_t count;
	enum instrument_path_end end;
	uint32_t to; /* the block that BACK and CUT lead to */
};

/* The path of a number, which is that of its slot in the function's: by the blocks that it runs
 * through. edges: room for as many as the plan has nodes. False: there is no such path. */
bool instrument_path_find(const struct instrument_plan *plan, uint32_t number, uint32_t *edges,
			  struct instrument_path *ret);

/* Counts the paths that a thread is on, which has ended, or whose copies are removed, as left.
 * table: so many slots, which may hold anything. */
void instrument_paths_settle(uint64_t *table, uint32_t slots);

#endif

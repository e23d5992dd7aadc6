/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_MACHINE_H
#define CULPRIT_STRUCTURE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "cfg/cfg.h"
#include "util/arena.h"

/* What is kept of a function's graph: its code, cut where its innermost loop changes. */

#define MACHINE_NO_LOOP	  UINT32_MAX
#define MACHINE_DEPTH_MAX 64 /* of loops; those deeper down count as part of the last one */

struct machine_piece {
	uint64_t start, end;
	uint32_t loop; /* the innermost, or MACHINE_NO_LOOP */
};

struct machine_loop {
	uint64_t header; /* its address */
	uint32_t parent; /* or MACHINE_NO_LOOP; stands before it */
	uint32_t depth;	 /* 1: outermost */
	bool irreducible;
};

/* An instruction that decides whether a loop goes on: it leads back to the header, or out. */
struct machine_control {
	uint64_t address;
	uint32_t loop;
	bool latch; /* leads back */
};

struct machine_function {
	uint64_t entry;
	uint32_t file, first_line;    /* for the user of the list */
	struct machine_piece *pieces; /* ascending, disjoint */
	struct machine_loop *loops;
	struct machine_control *controls;
	uint32_t piece_count, loop_count, control_count;
	uint32_t loops_refused;
	bool complete;
};

/* 0, or -ENOMEM: also when the arena is full. */
int machine_function_read(const struct cfg_function *f, struct arena *memory,
			  struct machine_function *ret);

#endif

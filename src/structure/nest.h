/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_NEST_H
#define CULPRIT_STRUCTURE_NEST_H

#include "structure/source.h"

/*
 * The loops of a function as they were written. Which context a loop belongs to, and on which lines
 * it is repeated, is told by the branches that end an iteration; loops that are repeated on the
 * same line of the same context, and not one in the other, are copies of one loop: what the
 * compiler split, unrolled, peeled, or made in several versions.
 */

#define NEST_LATCHES_MAX 4 /* lines on which a loop is repeated that are told apart */

struct nest_loop {
	uint32_t parent; /* of loops that stand for themselves; or MACHINE_NO_LOOP */
	uint32_t stands; /* the loop that stands for this copy: itself, or another copy */
	uint32_t copies; /* of loops that stand for themselves */
	uint32_t context;
	uint32_t latches[NEST_LATCHES_MAX]; /* positions */
	uint32_t latch_count;
	bool placed; /* context is known from its branches */
	bool irreducible;
	/* Its lines: those that are in it alone, and those on which it is repeated. 0: not known.
	 */
	const char *file;
	uint32_t first_line, last_line;
};

struct nest {
	const struct source *source;
	struct nest_loop *loops; /* numbered as in the machine code */
	uint32_t count;
	/* Which positions occur in which loops that stand for themselves: position << 32 | loop,
	 * with MACHINE_NO_LOOP for none; ascending, each once. */
	uint64_t *occurrences;
	size_t occurrence_count, occurrence_room;
};

/* The source is borrowed. 0 or -ENOMEM. nest_free() it, also after a failure. */
int nest_new(const struct source *s, struct nest *ret);
void nest_free(struct nest *n);

/* Sets the lines of all loops. 0 or -ENOMEM. (nest_lines.c) */
int nest_find_lines(struct nest *n);

/* The loop that stands for this one; of none, none. */
uint32_t nest_loop_of(const struct nest *n, uint32_t loop);
/* The loop around a loop that stands for itself, or MACHINE_NO_LOOP. */
uint32_t nest_parent(const struct nest *n, uint32_t loop);
/* From loop, which stands for itself or is none, outwards: the first whose context is around the
 * given one, so that code of the latter may be in it. */
uint32_t nest_home(const struct nest *n, uint32_t loop, uint32_t context);
/* Whether inner is in outer, or is outer. Every loop is in none. */
bool nest_has(const struct nest *n, uint32_t outer, uint32_t inner);
/* Whether the position is between the first and the last line of the loop, in its context. */
bool nest_has_line(const struct nest *n, uint32_t loop, uint32_t position);
/* Whether the loop's lines, and the file that they are in, can be told for the position. */
bool nest_knows_lines(const struct nest *n, uint32_t loop, uint32_t position);

#endif

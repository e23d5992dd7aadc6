/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_MOVES_H
#define CULPRIT_STRUCTURE_MOVES_H

#include "structure/nest.h"

/*
 * Puts code back where its line is written: a line that occurs both in a loop and around it belongs
 * into the loop if it is among the loop's lines (the compiler moved part of it out), and around it
 * if it is not (moved in). Where the loop's lines cannot be told, it belongs into the loop.
 */

struct moves {
	const struct nest *nest;
	struct map64 *targets; /* position << 32 | loop -> loop */
};

/* The nest is borrowed. 0 or -ENOMEM. moves_free() it, also after a failure. */
int moves_new(const struct nest *n, struct moves *ret);
void moves_free(struct moves *m);

/* The loop, which stands for itself, that a piece belongs to; or MACHINE_NO_LOOP. */
uint32_t moves_settle(const struct moves *m, const struct source_piece *p);

#endif

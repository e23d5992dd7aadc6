/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_AGE_H
#define CULPRIT_DB_AGE_H

#include "util/io.h"

/*
 * The clock that epochs age by. The wall clock may be wrong for a while, and must not make history
 * old in one step: so this one runs with the time since the machine's start, never back, and where
 * it is behind the wall clock it follows that at AGE_RATE seconds a second at most. What a machine
 * slept or was off is so caught up with; a clock that stood in another century for an hour ages
 * epochs by AGE_RATE hours. Only its differences mean something.
 */
#define AGE_RATE 4

struct age_clock {
	uint64_t ns;	     /* when it began: the wall clock's */
	struct io_time last; /* when ns was true; its wall_ns is not used */
};

/* The first of a database. */
struct age_clock age_begin(const struct io_time *now);
void age_advance(struct age_clock *c, const struct io_time *now);

#endif

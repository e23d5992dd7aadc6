/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_AGE_H
#define CULPRIT_DB_AGE_H

#include "util/io.h"

/*
 * The clock by which epochs age. The wall clock may be wrong for a while, and that must not make
 * all history old at once. So this clock advances with the time since boot and never runs
 * backwards; while it is behind the wall clock it catches up, advancing at most AGE_RATE seconds
 * per second. That makes up for the time that a machine was asleep or off, and a wall clock that is
 * a century ahead for one hour ages epochs by AGE_RATE hours only. Only differences of this clock
 * have a meaning.
 */
#define AGE_RATE 4

struct age_clock {
	uint64_t ns;	     /* begins as the wall clock's time */
	struct io_time last; /* the time at which ns was computed; its wall_ns is not used */
};

/* The clock of a new database. */
struct age_clock age_begin(const struct io_time *now);
void age_advance(struct age_clock *c, const struct io_time *now);

#endif

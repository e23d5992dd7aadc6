/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_EVENT_MODE_H
#define CULPRIT_ANALYZE_QUERY_EVENT_MODE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What an event's name says besides what is counted. perf writes the modifiers that it chose by
 * itself into the name, "cpu-clock:pppH": how precise, and that guests are left out. Neither
 * changes what a sample stands for, so to a person that is cpu-clock.
 */

/* Whether samples of the two stand for the same: equal except for precision, and which of the two
 * modes (user, kernel) they count. */
bool event_mode_same(const char *a, const char *b);

/* The size of a clock's name (cpu-clock, task-clock) without what is said above, for clocks are
 * never precise; of any other name, all of it. */
size_t event_mode_clock_size(const char *name, size_t size);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_CLOCK_H
#define CULPRIT_UTIL_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns: the clock of the kernel's records and of the programs that sample. */
uint64_t clock_monotonic_ns(void);
/* The wall clock, ns since 1970 in UTC: the clock of the times in a database. */
uint64_t clock_wall_ns(void);
/* Whole seconds since boot, time asleep included. This clock cannot be set. */
uint64_t clock_uptime_s(void);
/* The time from now until then as a timeout for poll(2): in ms, rounded up, 0 when then has passed,
 * at most most_ms. */
int clock_ms_until(uint64_t then_ns, uint64_t now_ns, int most_ms);

#endif

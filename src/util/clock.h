/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_CLOCK_H
#define CULPRIT_UTIL_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, in ns: what the kernel's records and the sampling program's times are in. */
uint64_t clock_monotonic_ns(void);
/* The wall clock, ns since 1970 in UTC: what the database's times are in. */
uint64_t clock_wall_ns(void);
/* Since the boot, sleep included, in whole seconds: nobody sets it. */
uint64_t clock_uptime_s(void);
/* From now until then as poll(2) takes it: in ms, rounded up, 0 when past, at most most_ms. */
int clock_ms_until(uint64_t then_ns, uint64_t now_ns, int most_ms);

#endif

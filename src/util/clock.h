/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_CLOCK_H
#define CULPRIT_UTIL_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, in ns: what the kernel's records and the sampling program's times are in. */
uint64_t clock_monotonic_ns(void);
/* The wall clock, ns since 1970 in UTC: what the database's times are in. */
uint64_t clock_wall_ns(void);

#endif

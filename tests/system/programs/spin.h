/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_SPIN_H
#define CULPRIT_TESTS_SPIN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

/*
 * Work whose place is known: functions that read the time stamp counter themselves, so that nothing
 * of it falls into libc or the vDSO.
 */

static inline uint64_t clock_now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks of the counter in a nanosecond, from what passes in 2 ms. */
static inline double ticks_a_ns(void)
{
	uint64_t ns = clock_now_ns(CLOCK_MONOTONIC), ticks = __rdtsc(), now;

	do
		now = clock_now_ns(CLOCK_MONOTONIC);
	while (now - ns < 2000000);
	return (double)(__rdtsc() - ticks) / (double)(now - ns);
}

/* Defines a function that spins for so many ticks. */
#define DEFINE_SPIN(name)                                             \
	__attribute__((noinline, noclone)) void name(uint64_t ticks); \
	__attribute__((noinline, noclone)) void name(uint64_t ticks)  \
	{                                                             \
		uint64_t begin = __rdtsc();                           \
                                                                      \
		while (__rdtsc() - begin < ticks)                     \
			;                                             \
	}

#endif

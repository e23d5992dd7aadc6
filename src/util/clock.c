/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_uptime_s(void)
{
	return read_clock(CLOCK_BOOTTIME) / 1000000000u;
}

int clock_ms_until(uint64_t then_ns, uint64_t now_ns, int most_ms)
{
	uint64_t left_ms = then_ns > now_ns ? (then_ns - now_ns - 1) / 1000000 + 1 : 0;

	return left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
}

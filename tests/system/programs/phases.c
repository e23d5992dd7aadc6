/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * phases PERIOD_NS SECONDS: a program in step with the sampling rate. In the first 30% of each
 * period of CLOCK_MONOTONIC it is in phase_first, then in phase_rest. Prints the share of its own
 * time that it was in phase_first, by the number of equal turns that each made.
 */
#include <sched.h>
#include "spin.h"

/* Turns until the counter reaches end. */
#define DEFINE_PHASE(name)                                                    \
	__attribute__((noinline, noclone)) static uint64_t name(uint64_t end) \
	{                                                                     \
		uint64_t turns = 0;                                           \
                                                                              \
		while (__rdtsc() < end)                                       \
			turns++;                                              \
		return turns;                                                 \
	}

DEFINE_PHASE(phase_first)
DEFINE_PHASE(phase_rest)

/* The counter and the clock, read together, so that the phases keep to the clock. */
struct anchor {
	uint64_t ns, ticks;
};

static struct anchor drop_anchor(void)
{
	struct anchor best = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = __rdtsc(), ns = clock_now_ns(CLOCK_MONOTONIC), after = __rdtsc();

		if (after - before < least) {
			least = after - before;
			best = (struct anchor){ns, before + least / 2};
		}
	}
	return best;
}

static uint64_t ticks_at(const struct anchor *a, uint64_t ns, double rate)
{
	return a->ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - a->ns) * rate);
}

int main(int argc, char **argv)
{
	uint64_t period = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	struct anchor a = drop_anchor();
	double rate = ticks_a_ns();
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC) / period + 1, turns[2] = {0};
	uint64_t count = (uint64_t)(seconds * 1e9 / (double)period);
	cpu_set_t one;

	/* Each CPU's samples are in step by themselves; one CPU makes the worst case. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (uint64_t i = begin; i < begin + count; i++) {
		if (i % 16 == 0) {
			struct anchor now = drop_anchor();

			if (now.ns - a.ns > 500000000)
				rate = (double)(now.ticks - a.ticks) / (double)(now.ns - a.ns);
			turns[0] += phase_first(ticks_at(&now, i * period + period * 3 / 10, rate));
			turns[1] += phase_rest(ticks_at(&now, (i + 1) * period, rate));
			continue;
		}
		turns[0] += phase_first(ticks_at(&a, i * period + period * 3 / 10, rate));
		turns[1] += phase_rest(ticks_at(&a, (i + 1) * period, rate));
	}
	printf("%.6f\n", (double)turns[0] / (double)(turns[0] + turns[1]));
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/core_meter.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include "util/array.h"
#include "util/clock.h"
#include "util/num.h"
#include "util/thread.h"

#ifdef __x86_64__

#define SLICE_NS     40000.0 /* of the loop; far shorter than a turn on the CPU */
#define CHAIN_ROUNDS 600     /* of 64 additions: a third of that */
#define CHAINS_AGREE 0.005
#define WIDTHS_AGREE 0.1
#define WALL_SHARE   4 /* as long as it may take on a busy machine */
#define SLICES_MOST  1024
#define SLICES_SHARE 16

static double now_ns(void)
{
	return (double)clock_monotonic_ns();
}

/* What this thread ran, and what passed: others may be on the machine. */
static double own_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)
		       ? 0
		       : (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool is_patient(double own_start, double start, double patience_ns)
{
	return own_ns() - own_start < patience_ns && now_ns() - start < WALL_SHARE * patience_ns;
}

/* ns of a cycle now. */
static double time_chain(void)
{
	uint64_t x = 1, y = 3;
	double start = now_ns();

	for (uint64_t k = 0; k < CHAIN_ROUNDS; k++)
		__asm__ volatile(".rept 64\nadd %1,%0\n.endr" : "+r"(x) : "r"(y));
	return (now_ns() - start) / (CHAIN_ROUNDS * 64);
}

/* ns of as many operations that need nothing but a place in the core's width. */
static double time_width(void)
{
	double start = now_ns();

	for (int k = 0; k < CHAIN_ROUNDS; k++)
		__asm__ volatile(".rept 64\nnop\n.endr");
	return (now_ns() - start) / (CHAIN_ROUNDS * 64);
}

static double time_run(machine_loop_run *run, void *buffer, uint64_t rounds)
{
	double start = now_ns();

	run(rounds, buffer);
	return now_ns() - start;
}

/* Rounds of a slice; warms up the loop. */
static uint64_t find_rounds(machine_loop_run *run, void *buffer)
{
	uint64_t rounds = 16;

	while (time_run(run, buffer, rounds) < SLICE_NS && rounds < 1u << 20)
		rounds *= 2;
	return rounds;
}

struct slices {
	double cycles[SLICES_MOST];
	size_t count;
	double unit; /* ns of a cycle in them */
};

/* Whether the core was this thread's alone: what runs on the same core takes part of its width.
 * width: ns of an idle operation. What is best is learned at the fastest clock alone, since a chain
 * that was held up would make the width look great. */
static bool is_alone(struct core_meter *m, double width, double unit)
{
	if (m->unit <= 0 || unit < m->unit * (1 - CHAINS_AGREE))
		*m = (struct core_meter){.unit = unit, .width = width / unit};
	else if (unit < m->unit * (1 + CHAINS_AGREE) && width / unit < m->width)
		m->width = width / unit;
	return width / unit < m->width * (1 + WIDTHS_AGREE);
}

/* Those of a slower clock are no longer wanted when it turns out to be faster. */
static void take_slice(struct slices *s, double cycles, double unit)
{
	if (unit > s->unit * (1 + CHAINS_AGREE))
		return;
	if (unit < s->unit * (1 - CHAINS_AGREE))
		s->count = 0;
	s->unit = fmin(s->unit, unit);
	if (s->count < SLICES_MOST)
		s->cycles[s->count++] = cycles;
}

double core_meter_cycles(struct core_meter *m, machine_loop_run *run, void *buffer,
			 double patience_ns)
{
	double own_start = own_ns(), start = now_ns();
	uint64_t rounds = find_rounds(run, buffer);
	struct slices s = {.unit = INFINITY};

	while (is_patient(own_start, start, patience_ns)) {
		long switched = thread_switches();
		double wide = time_width(), before = time_chain();
		double took = time_run(run, buffer, rounds);
		double unit = (before + time_chain()) / 2;

		if (thread_switches() == switched && fabs(before / unit - 1) < CHAINS_AGREE &&
		    is_alone(m, fmax(wide, time_width()), unit))
			take_slice(&s, took / (double)rounds / unit, unit);
	}
	array_sort(s.cycles, s.count, sizeof(*s.cycles), num_compare_double);
	return s.count ? s.cycles[s.count / SLICES_SHARE] : 0;
}

#else

double core_meter_cycles(struct core_meter *m, machine_loop_run *run, void *buffer,
			 double patience_ns)
{
	(void)m;
	(void)run;
	(void)buffer;
	(void)patience_ns;
	return 0;
}

#endif

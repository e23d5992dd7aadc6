/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What programs lose to samples by the scheduler's tick, and to as many by timers: loops in
 * registers, in the first and in the second level of the caches, in thousands of slices of the same
 * work, in blocks of four in an order that is drawn: without, without again, ticks, timers. Times
 * are the thread's CPU time, so neither who else runs nor the host that runs others counts. The
 * first two against one another are the proof: they show zero within their error.
 *
 *     bench/run BUILD [--quick] tick        7 minutes; --quick: one
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/cost/governor.h"
#include "collect/cost/governor_work.h"
#include "collect/events/sampler.h"
#include "collect/events/tick.h"

#define SLICE_NS   20000000.0
#define BLOCKS_MAX 4096

enum state { OFF, OFF_AGAIN, TICKS, TIMERS, STATES };

static struct sampler *samplers[STATES];

static double clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int open_sampler(const char *name, struct sampler **ret)
{
	uint64_t period = tick_period_ns();
	struct event e;
	struct sampler_config config = {.events = &e, .periods = &period, .event_count = 1};
	struct diag diag;
	int r = event_parse(name, &e, &diag);

	if (!r)
		r = sampler_new(&config, ret, &diag);
	if (r)
		fprintf(stderr, "%s\n", diag.text);
	return r;
}

/* Steps of the work that take a slice. */
static uint64_t calibrate(const struct governor_work *w)
{
	uint64_t steps = 1 << 16;
	double took = 0;

	while (took < SLICE_NS / 4) {
		steps *= 2;
		took = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
		governor_work_run(w, steps);
		took += clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	return (uint64_t)((double)steps * SLICE_NS / took);
}

/* In ns of CPU; negative: it could not be had. */
static double slice(const struct governor_work *w, uint64_t steps, enum state state)
{
	struct sampler *s = samplers[state];
	double began;

	if (s && sampler_start(s, NULL))
		return -1;
	governor_work_run(w,
			  governor_work_round(w) + steps / 16); /* the caches are its own again */
	began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	governor_work_run(w, steps);
	began = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	if (s)
		sampler_stop(s);
	return began;
}

static void shuffle(enum state *order)
{
	for (unsigned i = STATES - 1; i > 0; i--) {
		unsigned k = (unsigned)rand() % (i + 1);
		enum state swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
}

/* How much longer the slices of a state were than those without, in percent. */
static unsigned measure(const struct governor_work *w, double seconds,
			double lost[STATES][BLOCKS_MAX])
{
	uint64_t steps = calibrate(w);
	double end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * 1e9, took[STATES];
	enum state order[STATES] = {OFF, OFF_AGAIN, TICKS, TIMERS};
	unsigned n = 0;

	while (n < BLOCKS_MAX && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		double off;

		shuffle(order);
		for (unsigned i = 0; i < STATES; i++)
			took[order[i]] = slice(w, steps, order[i]);
		off = (took[OFF] + took[OFF_AGAIN]) / 2;
		lost[OFF_AGAIN][n] = 100 * (took[OFF_AGAIN] - took[OFF]) / off;
		lost[TICKS][n] = 100 * (took[TICKS] - off) / off;
		lost[TIMERS][n++] = 100 * (took[TIMERS] - off) / off;
	}
	return n;
}

static int run(const char *name, size_t bytes, double seconds)
{
	static double lost[STATES][BLOCKS_MAX];
	struct governor_cost found[STATES] = {0};
	struct governor_work w;
	double hz = 1e9 / (double)tick_period_ns();
	unsigned n;

	if (governor_work_new(bytes, &w))
		return -1;
	n = measure(&w, seconds, lost);
	governor_work_free(&w);
	for (enum state s = OFF_AGAIN; s < STATES; s++)
		governor_summarize(lost[s], n, &found[s]);
	printf("row\t%.0f samples a second slow %s\t%%\t%.3f\tas many by timers\t%.3f\t-\n", hz,
	       name, found[TICKS].cost_ns, found[TIMERS].cost_ns);
	printf("note %s (%zu kB): ticks %+.3f +-%.3f%% (%.2g us each), timers %+.3f +-%.3f%% "
	       "(%.3g us each), nothing %+.3f +-%.3f%% (medians of %u blocks, standard errors)\n",
	       name, bytes >> 10, found[TICKS].cost_ns, found[TICKS].error_ns,
	       found[TICKS].cost_ns * 1e4 / hz, found[TIMERS].cost_ns, found[TIMERS].error_ns,
	       found[TIMERS].cost_ns * 1e4 / hz, found[OFF_AGAIN].cost_ns,
	       found[OFF_AGAIN].error_ns, n);
	fflush(stdout);
	return 0;
}

int main(void)
{
	static const char *const names[GOVERNOR_SETS] = {
		"a loop in registers", "a loop in the first level", "a loop in the second level"};
	struct sched_param first = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	double seconds = getenv("CULPRIT_BENCH_QUICK") ? 15 : 140;
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_FIFO, &first); /* where it may */
	srand(20261123);
	if (open_sampler("tick", &samplers[TICKS]) || open_sampler("cpu-clock", &samplers[TIMERS]))
		return 1;
	for (enum governor_set set = 0; set < GOVERNOR_SETS; set++)
		if (run(names[set], governor_set_bytes("", cpu, set), seconds))
			return 1;
	sampler_free(samplers[TICKS]);
	sampler_free(samplers[TIMERS]);
	return 0;
}

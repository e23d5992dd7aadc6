/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The cost of a sample, measured. Slices of a fixed amount of work alternate, event off and on; a
 * slice with the event is compared with the mean of the two around it, so slow drifts (frequency,
 * a neighbour on the host) cancel. A slice in which the thread was switched out is discarded; what
 * the host takes away unseen falls into the tails, which the median leaves out. So that a machine
 * at work is measured too, the thread asks to be a real-time one meanwhile, if the least of them: a
 * nice value counts only among the threads of its own session or group. Where it may not (the
 * daemon), slices are at least shorter than the scheduler's.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "collect/governor.h"
#include "collect/host.h"

#define MEASURE_HZ	  10000.0
#define SLICE_NS	  1000000.0
#define PAIRS_WANTED	  144 /* of two slices: 0.3 s, at most */
#define PAIRS_NEEDED	  24
#define PATIENCE_NS	  1200000000.0
#define ERROR_ENOUGH	  0.05	      /* of the cost: a budget is no more exact than that */
#define PATIENCE_ALONE_NS 400000000.0 /* while no other thread gets the CPU */
#define COST_LEAST_NS	  20.0
#define COST_MOST_NS	  1000000.0

struct meter {
	int fd;
	double period;	 /* in the event's units */
	uint64_t rounds; /* of work in a slice */
	double deadline_ns;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A chain of dependent operations in registers: its time is the same each time, and the compiler
 * cannot leave it out because the result is used. */
static uint64_t work(uint64_t rounds)
{
	uint64_t x = rounds | 1;

	for (uint64_t i = 0; i < rounds; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nivcsw + u.ru_nvcsw;
}

/* Time of one slice, or a negative number when it was disturbed. */
static double time_slice(const struct meter *m)
{
	long before = switches();
	double start = now_ns(), took;

	work(m->rounds);
	took = now_ns() - start;
	return switches() == before ? took : -1;
}

static uint64_t read_count(int fd)
{
	uint64_t v[3] = {0}; /* value, time enabled, time running */

	return read(fd, v, sizeof(v)) == (ssize_t)sizeof(v) ? v[0] : 0;
}

/* Rounds of work that take SLICE_NS; also brings the core up to speed. */
static uint64_t calibrate(void)
{
	uint64_t rounds = 10000;
	double best = 1e9;

	for (double took = 0; took < SLICE_NS / 4 && rounds < UINT64_MAX / 4; rounds *= 2) {
		double start = now_ns();

		work(rounds);
		took = now_ns() - start;
		best = took / (double)rounds;
	}
	for (int i = 0; i < 5; i++) {
		double start = now_ns();

		work(rounds / 4);
		best = fmin(best, (now_ns() - start) / ((double)rounds / 4));
	}
	return (uint64_t)(SLICE_NS / best) + 1;
}

/* A command that is to be run waits for this: it ends when it has what it is for. */
static bool is_enough(const struct meter *m, double *values, unsigned int count)
{
	struct governor_cost sofar = {0};

	if (now_ns() >= m->deadline_ns)
		return true;
	if (count < PAIRS_NEEDED || count % (PAIRS_NEEDED / 2))
		return count >= PAIRS_WANTED;
	governor_summarize(values, count, &sofar);
	return sofar.error_ns <= ERROR_ENOUGH * sofar.cost_ns;
}

/* Fills values with the cost of a sample by each pair; returns how many were good. */
static unsigned int measure_pairs(const struct meter *m, double *values, unsigned int *discarded)
{
	double off = time_slice(m), next_off, on;
	unsigned int count = 0;

	while (!is_enough(m, values, count)) {
		uint64_t before = read_count(m->fd);
		double samples;

		ioctl(m->fd, PERF_EVENT_IOC_ENABLE, 0);
		on = time_slice(m);
		ioctl(m->fd, PERF_EVENT_IOC_DISABLE, 0);
		/* Not whole: what is left of a period is kept for the next slice. */
		samples = (double)(read_count(m->fd) - before) / m->period;
		next_off = time_slice(m);
		if (off > 0 && on > 0 && next_off > 0 && samples >= 1)
			values[count++] = (on - (off + next_off) / 2) / samples;
		else
			++*discarded;
		off = next_off;
	}
	return count;
}

void governor_stand_in(const struct event *e, struct event *ret)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};

	*ret = *e;
	ret->cpus = NULL;
	/* The loop runs in user mode: an event of the kernel alone would never interrupt it. */
	ret->attr.exclude_user = 0;
	if (event_is_clock(e))
		return;
	if (e->attr.type == PERF_TYPE_SOFTWARE || event_is_tracepoint(e)) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
	} else {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		attr.precise_ip = e->attr.precise_ip;
		attr.exclude_guest = 1;
	}
	ret->attr = attr;
}

static void use_default(struct governor_cost *c, const char *why)
{
	c->measured = false;
	c->why = why;
	c->cost_ns =
		host_is_virtual("") ? GOVERNOR_COST_DEFAULT_VIRTUAL_NS : GOVERNOR_COST_DEFAULT_NS;
	c->error_ns = 0;
	c->low_ns = c->high_ns = c->cost_ns;
}

bool governor_cost_is_sane(const struct governor_cost *c)
{
	return c->cost_ns >= COST_LEAST_NS && c->cost_ns <= COST_MOST_NS && c->error_ns >= 0 &&
	       c->error_ns <= c->cost_ns / 2;
}

static void measure(struct meter *m, double patience_ns, struct governor_cost *ret)
{
	double values[PAIRS_WANTED];
	unsigned int count;

	m->rounds = calibrate();
	m->deadline_ns = now_ns() + patience_ns;
	count = measure_pairs(m, values, &ret->discarded);
	ret->measured = true;
	ret->why = "";
	governor_summarize(values, count, ret);
	if (count < PAIRS_NEEDED)
		use_default(ret, "the machine was too busy to measure");
	else if (!governor_cost_is_sane(ret))
		use_default(ret, "what was measured makes no sense on so noisy a machine");
}

/* Has the CPU for itself, where that is allowed, else more of it than others. */
static void measure_first(struct meter *m, struct governor_cost *ret)
{
	int nice_before = getpriority(PRIO_PROCESS, 0); /* of this thread alone */
	int policy = sched_getscheduler(0);
	struct sched_param before, first = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	bool alone = policy >= 0 && !sched_getparam(0, &before) &&
		     !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);

	if (!alone)
		setpriority(PRIO_PROCESS, 0, PRIO_MIN);
	measure(m, alone ? PATIENCE_ALONE_NS : PATIENCE_NS, ret);
	if (alone)
		sched_setscheduler(0, policy, &before);
	setpriority(PRIO_PROCESS, 0, nice_before);
}

/* Pins the calling thread to one CPU (-1: where it is); 0 or a negative errno. */
static int pin(int *cpu, cpu_set_t *ret_before)
{
	cpu_set_t one;

	if (*cpu < 0)
		*cpu = sched_getcpu();
	if (*cpu < 0 || *cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&one);
	CPU_SET((size_t)*cpu, &one);
	if (sched_getaffinity(0, sizeof(*ret_before), ret_before) ||
	    sched_setaffinity(0, sizeof(one), &one))
		return -errno;
	return 0;
}

int governor_measure(const struct event *e, int cpu, int (*attach)(void *arg, int perf_fd),
		     void *arg, struct governor_cost *ret, struct diag *diag)
{
	struct governor_cost cost = {0};
	struct meter m = {0};
	struct event stand;
	cpu_set_t before;
	double hz = MEASURE_HZ, kernel_hz = governor_kernel_max_hz("");
	int r;

	governor_stand_in(e, &stand);
	if (kernel_hz > 0)
		hz = fmin(hz, kernel_hz / 2);
	m.period = (double)governor_period("", &stand, hz);
	r = pin(&cpu, &before);
	if (r) {
		/* More CPUs than a set holds, or this one is kept from us. */
		use_default(&cost, "this thread may not run on the CPU to measure");
		*ret = cost;
		return 0;
	}
	m.fd = event_open(&stand, cpu, (uint64_t)m.period, -1, diag);
	r = m.fd < 0 ? m.fd : 0;
	if (!r && attach)
		r = attach(arg, m.fd);
	if (!r) {
		measure_first(&m, &cost);
		*ret = cost;
	}
	if (m.fd >= 0)
		close(m.fd);
	sched_setaffinity(0, sizeof(before), &before);
	return r;
}

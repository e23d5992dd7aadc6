/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The cost of a sample, measured. Slices of a fixed amount of work alternate, event off and on; a
 * slice with the event is compared with the mean of the two around it, so slow drifts (frequency,
 * a neighbour on the host) cancel. A slice in which the thread was switched out is discarded; what
 * the host takes away unseen falls into the tails, which are left out. So that a machine
 * at work is measured too, the thread asks to be a real-time one meanwhile, if the least of them: a
 * nice value counts only among the threads of its own session or group. Where it may not (the
 * daemon), slices are at least shorter than the scheduler's. governor_sets.c says which set of
 * memory the work of a slice goes through.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "collect/cost/allowance.h"
#include "collect/cost/governor.h"
#include "collect/cost/governor_work.h"
#include "collect/host/host.h"
#include "util/clock.h"
#include "util/thread.h"

#define MEASURE_HZ	  10000.0
#define SLICE_NS	  1000000.0
#define ROUNDS_A_SLICE	  4 /* through a set, at least... */
#define ROUNDS_A_SAMPLE	  2 /* ...and from one sample to the next: it finds the set complete */
#define PATIENCE_NS	  1200000000.0
#define PATIENCE_ALONE_NS 400000000.0 /* while no other thread gets the CPU */

struct meter {
	const struct event *event; /* the stand-in */
	int fd;
	double most_hz;
	struct {
		struct governor_work work;
		uint64_t steps;	 /* of a slice; 0: not calibrated yet */
		uint64_t period; /* in the event's units */
	} set[GOVERNOR_SETS];
};

static double now_ns(void)
{
	return (double)clock_monotonic_ns();
}

static uint64_t read_count(int fd)
{
	uint64_t v[3] = {0}; /* value, time enabled, time running */

	return read(fd, v, sizeof(v)) == (ssize_t)sizeof(v) ? v[0] : 0;
}

/* Time of a step of a set's work in ns; also warms up the core, and the caches with the set. */
static double time_step(const struct governor_work *w)
{
	uint64_t steps = 4096, round = governor_work_round(w);
	double best = INFINITY, took = 0;

	governor_work_run(w, round);
	for (; took < SLICE_NS / 4; steps *= 2) {
		double start = now_ns();

		governor_work_run(w, steps);
		took = now_ns() - start;
	}
	for (int i = 0; i < 5; i++) {
		double start = now_ns();

		governor_work_run(w, steps / 4);
		best = fmin(best, (now_ns() - start) / (double)(steps / 4));
	}
	return best;
}

static void calibrate(struct meter *m, enum governor_set set)
{
	const struct governor_work *w = &m->set[set].work;
	double step_ns = fmax(time_step(w), 1e-3);
	double round_ns = step_ns * (double)governor_work_round(w), hz = m->most_hz;

	if (round_ns > 0)
		hz = fmin(hz, 1e9 / round_ns / ROUNDS_A_SAMPLE);
	m->set[set].period = governor_period("", m->event, hz);
	m->set[set].steps = (uint64_t)(fmax(SLICE_NS, round_ns * ROUNDS_A_SLICE) / step_ns) + 1;
}

static void begin(void *arg, enum governor_set set)
{
	struct meter *m = arg;

	if (!m->set[set].steps)
		calibrate(m, set);
	ioctl(m->fd, PERF_EVENT_IOC_PERIOD, &m->set[set].period);
	governor_work_run(&m->set[set].work, governor_work_round(&m->set[set].work));
}

static double slice(void *arg, enum governor_set set, bool on, double *ret_samples)
{
	struct meter *m = arg;
	uint64_t before = on ? read_count(m->fd) : 0;
	long switched = thread_switches();
	double start, took;

	if (on)
		ioctl(m->fd, PERF_EVENT_IOC_ENABLE, 0);
	start = now_ns();
	governor_work_run(&m->set[set].work, m->set[set].steps);
	took = now_ns() - start;
	if (on) {
		ioctl(m->fd, PERF_EVENT_IOC_DISABLE, 0);
		/* Not whole: what is left of a period is kept for the next slice. */
		*ret_samples = (double)(read_count(m->fd) - before) / (double)m->set[set].period;
	}
	return thread_switches() == switched ? took : -1;
}

static double clock_of(void *arg)
{
	(void)arg;
	return now_ns();
}

void governor_stand_in(const struct event *e, struct event *ret)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};

	*ret = *e;
	ret->cpus = NULL;
	ret->tick = false;
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

static double default_ns(void)
{
	return host_is_virtual("") ? GOVERNOR_COST_DEFAULT_VIRTUAL_NS : GOVERNOR_COST_DEFAULT_NS;
}

static void measure(struct meter *m, double patience_ns, struct governor_cost *ret)
{
	const struct governor_bench bench = {
		.slice = slice, .begin = begin, .now_ns = clock_of, .arg = m};
	enum governor_set most = governor_measure_sets(&bench, patience_ns, default_ns(), ret);

	ret->set_bytes = m->set[most].work.bytes;
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

static int open_work(struct meter *m, int cpu)
{
	int r = 0;

	for (enum governor_set set = 0; !r && set < GOVERNOR_SETS; set++)
		r = governor_work_new(governor_set_bytes("", cpu, set), &m->set[set].work);
	return r;
}

/* On the CPU that the thread is pinned to. */
static int measure_on(struct meter *m, int cpu, int (*attach)(void *arg, int perf_fd), void *arg,
		      struct governor_cost *ret, struct diag *diag)
{
	struct governor_cost cost = {0};
	int r = open_work(m, cpu);

	if (r)
		return diag_fail(diag, -r, "out of memory");
	m->fd = event_open(m->event, cpu, governor_period("", m->event, m->most_hz), -1, diag);
	r = m->fd < 0 ? m->fd : 0;
	if (!r && attach)
		r = attach(arg, m->fd);
	if (!r) {
		uint64_t idle_ns = host_idle_ns(""), start_ns = clock_monotonic_ns();

		measure_first(m, &cost);
		cost.busy = idle_ns && governor_was_busy(host_idle_ns("") - idle_ns,
							 clock_monotonic_ns() - start_ns,
							 sysconf(_SC_NPROCESSORS_ONLN));
		*ret = cost;
	}
	if (m->fd >= 0)
		close(m->fd);
	return r;
}

static double most_hz(void)
{
	double kernel_hz = governor_kernel_max_hz("");

	return kernel_hz > 0 ? fmin(MEASURE_HZ, kernel_hz / 2) : MEASURE_HZ;
}

int governor_measure(const struct event *e, int cpu, int (*attach)(void *arg, int perf_fd),
		     void *arg, struct governor_cost *ret, struct diag *diag)
{
	struct event stand;
	struct meter m = {.event = &stand, .fd = -1, .most_hz = most_hz()};
	cpu_set_t before;

	governor_stand_in(e, &stand);
	if (pin(&cpu, &before)) {
		/* More CPUs than a set holds, or this one is kept from us. */
		*ret = (struct governor_cost){
			.cost_ns = default_ns(),
			.why = "this thread may not run on the CPU to measure",
		};
		return 0;
	}
	int r = measure_on(&m, cpu, attach, arg, ret, diag);
	for (enum governor_set set = 0; set < GOVERNOR_SETS; set++)
		governor_work_free(&m.set[set].work);
	sched_setaffinity(0, sizeof(before), &before);
	return r;
}

/* Of what an interrupt costs, the program that counts, which a watch has not attached: its own
 * samples would be counted. 120 to 470 ns were measured (doc/trials/collector-speed.md). */
#define COUNTING_NS 300.0

struct governor_watch {
	struct event stand;
	struct meter meter;
	int cpu;
	enum governor_set set;
	struct governor_recent recent;
	pthread_t thread;
	bool threaded;
	sem_t asked;

	pthread_mutex_t lock; /* of what follows */
	bool known, ending;
	struct governor_cost cost;
	uint64_t took_ns;
};

static void look(struct governor_watch *w)
{
	const struct governor_bench bench = {
		.slice = slice, .begin = begin, .now_ns = clock_of, .arg = &w->meter};
	struct governor_cost cost;
	uint64_t begun_ns = allowance_thread_ns();
	bool known = governor_measure_again(&bench, w->set, &w->recent, &cost);

	pthread_mutex_lock(&w->lock);
	w->took_ns = allowance_thread_ns() - begun_ns;
	w->known = known;
	if (known) {
		w->cost = cost;
		w->cost.cost_ns += COUNTING_NS;
		w->cost.set_bytes = w->meter.set[w->set].work.bytes;
	}
	pthread_mutex_unlock(&w->lock);
}

static void *watch(void *arg)
{
	struct governor_watch *w = arg;
	bool ending = false;
	cpu_set_t before;

	/* Of slices in the turns that a busy machine gives, none would be undisturbed. */
	thread_hurry();
	if (pin(&w->cpu, &before))
		return NULL;
	while (!ending && (sem_wait(&w->asked) == 0 || errno == EINTR)) {
		struct governor_work *work = &w->meter.set[w->set].work;

		pthread_mutex_lock(&w->lock);
		ending = w->ending;
		pthread_mutex_unlock(&w->lock);
		/* The memory is had at the first look: a short recording has none. */
		if (!ending && (w->meter.set[w->set].steps ||
				!governor_work_new(governor_set_bytes("", w->cpu, w->set), work)))
			look(w);
	}
	return NULL;
}

int governor_watch_new(const struct event *e, size_t set_bytes,
		       int (*attach)(void *arg, int perf_fd), void *arg,
		       struct governor_watch **ret, struct diag *diag)
{
	struct governor_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return diag_fail(diag, ENOMEM, "out of memory");
	w->cpu = sched_getcpu();
	w->meter = (struct meter){.event = &w->stand, .most_hz = most_hz()};
	while (w->set + 1 < GOVERNOR_SETS && governor_set_bytes("", w->cpu, w->set) != set_bytes)
		w->set++;
	governor_stand_in(e, &w->stand);
	pthread_mutex_init(&w->lock, NULL);
	sem_init(&w->asked, 0, 0);
	int r = w->meter.fd = event_open(
		&w->stand, w->cpu, governor_period("", &w->stand, w->meter.most_hz), -1, diag);
	if (r >= 0 && attach)
		r = attach(arg, w->meter.fd);
	if (r < 0) {
		governor_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void governor_watch_free(struct governor_watch *w)
{
	if (!w)
		return;
	if (w->threaded) {
		pthread_mutex_lock(&w->lock);
		w->ending = true;
		pthread_mutex_unlock(&w->lock);
		sem_post(&w->asked);
		pthread_join(w->thread, NULL);
	}
	if (w->meter.fd >= 0)
		close(w->meter.fd);
	governor_work_free(&w->meter.set[w->set].work);
	sem_destroy(&w->asked);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

bool governor_watch_look(struct governor_watch *w, struct governor_cost *ret, uint64_t *ret_took_ns)
{
	bool known;

	/* Not before the first is asked for: by then what is not needed to run has been given up,
	 * by this thread and so by that. */
	if (!w->threaded)
		w->threaded = thread_start(&w->thread, watch, w) == 0;
	pthread_mutex_lock(&w->lock);
	known = w->known;
	w->known = false;
	if (known)
		*ret = w->cost;
	*ret_took_ns = w->took_ns;
	pthread_mutex_unlock(&w->lock);
	sem_post(&w->asked);
	return known;
}

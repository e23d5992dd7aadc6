/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_GOVERNOR_H
#define CULPRIT_COLLECT_COST_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/events/event.h"

/*
 * What the loop that is interrupted keeps in the caches: nothing, half of the first-level data
 * cache, half of the second level. The way through the kernel, and out of a virtual machine and
 * back, takes the caches with it, so a program that lives in them pays more than one that computes
 * in registers.
 */
enum governor_set {
	GOVERNOR_REGISTERS,
	GOVERNOR_FIRST_LEVEL,
	GOVERNOR_SECOND_LEVEL,
	GOVERNOR_SETS
};

/* What one sample costs the CPU that takes it: the interrupt, the handler, on a virtual machine the
 * exits to the host, and what the interrupted program has lost of its caches. For the set for which
 * that is highest. */
struct governor_cost {
	double cost_ns;	 /* mean over pairs of slices with and without the event, less a tenth of
			  * them at each end */
	double error_ns; /* standard error of that mean */
	unsigned int pairs, discarded; /* slices that other work disturbed are discarded */
	size_t set_bytes;	       /* that the interrupted loop used over and over */
	bool measured;	 /* false: cost_ns is the default below, for the reason in why */
	bool busy;	 /* others ran beside it: on a quiet machine it may be less */
	const char *why; /* static; "" when measured */
};

/* Assumed where measuring gave nonsense, unless that was more. Cautious: about 1 us is usual on
 * bare metal, and on virtual machines 14 to 63 us were measured. */
#define GOVERNOR_COST_DEFAULT_NS	 4000.0
#define GOVERNOR_COST_DEFAULT_VIRTUAL_NS 60000.0

/*
 * Measures the cost of a sample on one CPU (-1: the calling thread's) in 0.2 to 0.4 s, up to 1.2 s
 * on a busy machine where it may not be a real-time thread: for each set a loop of fixed work runs
 * there with and without the event at a high rate, in turns of a few ms. attach puts the real
 * handler on the event's descriptor (0 or a negative errno); NULL for none. An event that a spin
 * loop does not cause is replaced by its kind's clock: cycles for hardware events, cpu-clock (which
 * costs more) for software ones and tracepoints. Changes the calling thread's CPU affinity
 * meanwhile. Errors: those of event_open and attach.
 */
int governor_measure(const struct event *e, int cpu, int (*attach)(void *arg, int perf_fd),
		     void *arg, struct governor_cost *ret, struct diag *diag);

/*
 * The same while the event is sampled, since what others leave of the caches changes: a thread that
 * runs ahead of others, where it may, measures a few pairs each time it is asked (10 ms), for the
 * set that was the dearest, known by its bytes (other sizes: the second level). attach as above,
 * with a program that does nothing.
 */
struct governor_watch;
int governor_watch_new(const struct event *e, size_t set_bytes,
		       int (*attach)(void *arg, int perf_fd), void *arg,
		       struct governor_watch **ret, struct diag *diag);
void governor_watch_free(struct governor_watch *w);
/* Asks for a look. True with what the last pairs of earlier ones say, if there are new ones and
 * they make sense. *ret_took_ns is always set: the processor time of the last look. */
bool governor_watch_look(struct governor_watch *w, struct governor_cost *ret,
			 uint64_t *ret_took_ns);

/* How slices of work are run and timed; tests make them up. */
struct governor_bench {
	/* The time of one slice of that set's work in ns, negative when other work disturbed it;
	 * while the event is on, with the samples that it took. */
	double (*slice)(void *arg, enum governor_set set, bool on, double *ret_samples);
	/* Called before slices of another set: its event's rate, and its lines in the caches. */
	void (*begin)(void *arg, enum governor_set set);
	double (*now_ns)(void *arg);
	void *arg;
};

/*
 * The rule of the measurement: every set in turn until each has enough pairs to tell; then the
 * dearest alone until it is known to 5% or patience_ns is over. ret: the cost for the dearest,
 * except for its bytes; where a set could not be measured, at least default_ns. Returns which set
 * it was.
 */
enum governor_set governor_measure_sets(const struct governor_bench *b, double patience_ns,
					double default_ns, struct governor_cost *ret);

/* The last pairs of one set. */
#define GOVERNOR_PAIRS 144
struct governor_recent {
	double values[GOVERNOR_PAIRS];
	unsigned count, next;
};
/* Measures some more pairs; true with what is known by now. */
bool governor_measure_again(const struct governor_bench *b, enum governor_set set,
			    struct governor_recent *recent, struct governor_cost *ret);

/* The bytes of a set on that CPU, from sysfs, else from the processor, else what is usual. root as
 * in host.h. */
size_t governor_set_bytes(const char *root, int cpu, enum governor_set set);

/* The event that a spin loop causes and that interrupts as e does. */
void governor_stand_in(const struct event *e, struct event *ret);
/* Whether others ran on the other CPUs for a good part of the time that passed, of which all CPUs
 * together were idle for idle_ns. Never with a single CPU, which the measurement keeps busy. */
bool governor_was_busy(uint64_t idle_ns, uint64_t passed_ns, long cpus);
/* Whether a measured cost is one that a machine can have, and known well enough to be of use. */
bool governor_cost_is_sane(const struct governor_cost *c);
/* What a cost is planned and charged with: more than it truly is 19 times of 20, since half of all
 * plans by the mean would be above their budget. */
double governor_charge(const struct governor_cost *c);
/* What is believed of a cost that was looked at again: somebody who disturbs the looks in their
 * rhythm can make a sample look as cheap or as dear as he likes. */
double governor_trust(double start_ns, double again_ns);
/* Whether a cost is known well enough to take the place of one that was believed: to a tenth, or,
 * where a noisy machine never lets it be known so well, if chance does not explain the difference.
 */
bool governor_tells(const struct governor_cost *c, double believed_ns);

/* User space's own work for a sample (draining, resolving, storing), on whatever CPU: a bound. */
#define GOVERNOR_DRAIN_NS 200.0
#define GOVERNOR_MIN_HZ	  1.0
#define GOVERNOR_MAX_HZ	  10000.0

struct governor_rate {
	double hz;		 /* samples a second on each busy CPU, of each event */
	double slowdown_percent; /* that it costs, all events together */
	const char *bound;	 /* what decided: "budget", "kernel", "maximum", "minimum" */
};

/*
 * The highest rate whose slowdown, rate * (cost + drain), stays within budget_percent when `events`
 * events of this cost share it. Also stays so far below kernel_max_hz
 * (kernel.perf_event_max_sample_rate; 0: unknown) that the shortest random period does not make the
 * kernel throttle, and within GOVERNOR_MIN_HZ and GOVERNOR_MAX_HZ; the minimum alone can exceed the
 * budget, which slowdown_percent then shows.
 */
struct governor_rate governor_choose_rate(double cost_ns, double budget_percent,
					  unsigned int events, double kernel_max_hz);

/* kernel.perf_event_max_sample_rate as it is now (the kernel lowers it when handlers take long, see
 * kernel.perf_cpu_time_max_percent); 0 when unknown. Worth reading again after measuring. */
double governor_kernel_max_hz(const char *root);

/*
 * The period that gives at most hz samples a second on a busy CPU: exact for clocks; for cycles by
 * the CPU's highest frequency; for instructions and other hardware events by the most that a core
 * does of them in a cycle; for software events and tracepoints one of every few, because they come
 * without an interrupt of their own. root as in host.h.
 */
uint64_t governor_period(const char *root, const struct event *e, double hz);

/* The mean of values without a tenth at each end, and its standard error; sorts values; for
 * governor_measure and its test. */
void governor_summarize(double *values, unsigned int count, struct governor_cost *ret);

#endif

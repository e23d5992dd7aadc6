/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_H
#define CULPRIT_COLLECT_EVENTS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include "util/diag.h"

/*
 * An event by name: perf's generic names ("cycles", "cache-misses", "cpu-clock", "page-faults"),
 * cache events ("L1-dcache-load-misses"), raw ("r01c2"), "pmu/terms/" from sysfs, tracepoints
 * ("sched:sched_switch"), the scheduler's tick ("tick"), and libpfm4's names. Modifiers after a
 * colon: u, k, h, p (to ppp); then, after another, the period: "cache-misses:u:100003" (or
 * "@100003"). Default: no modifier, period 0 (chosen later).
 */
struct event {
	char *name; /* as written, without the period; what reports show */
	struct perf_event_attr attr;
	uint64_t period;   /* 0: not given */
	bool user, kernel; /* modes sampled */
	/* The scheduler's tick: the perf event only tells the time, the program is on a tracepoint;
	 * the period is the kernel's. */
	bool tick;
	/* The CPUs that have this event, as the kernel lists them ("0-7,16"); NULL: every CPU. On a
	 * machine with two kinds of core "cpu_core/.../" exists on some CPUs only; "cycles" exists
	 * on all, because the kernel picks the right PMU for each CPU that it is opened on. */
	char *cpus;
};

#define EVENTS_MAX 64

/*
 * Parses one event and proves that this machine can count it, by opening it. Errors say which it
 * is: -ENOENT: no event has this name (with the nearest names); -EOPNOTSUPP: the name is right but
 * this machine cannot count it (with why, and what could be used instead); -EINVAL: a bad modifier
 * or period; -EACCES: not allowed (with the command that fixes it); -EBUSY: right and allowed, but
 * something else holds the counter.
 */
int event_parse(const char *text, struct event *ret, struct diag *diag);
void event_free(struct event *e); /* what it owns, not e itself */

/* The best clock of this machine: precise cycles, cycles, else cpu-clock. why: one clause that says
 * why it is not the first choice, "" if it is; static. */
int event_default(struct event *ret, const char **ret_why, struct diag *diag);

/*
 * perf_event_open with the right flags for a sampling event on one CPU, all processes. The event
 * starts disabled; its read() gives value, time enabled, time running (u64 each). period 0: the
 * event's own, else one that is safe. Returns the descriptor, or a negative errno: those of
 * event_parse, and -ENODEV when this CPU does not have this event or is offline (skip it).
 */
int event_open(const struct event *e, int cpu, uint64_t period, int group_fd, struct diag *diag);
/* False for the CPUs of another kind of core (see cpus above). */
bool event_runs_on(const struct event *e, int cpu);
/* True when counting is by time (cpu-clock, task-clock): periods are in ns. */
bool event_is_clock(const struct event *e);
/* True when the kernel runs a BPF program at each hit instead of at each period (a tracepoint): it
 * must be of type BPF_PROG_TYPE_TRACEPOINT and be attached to one CPU's descriptor only. */
bool event_is_tracepoint(const struct event *e);
/* Known names for listing: calls f for each ("kind", "name", counted by this machine?). Unit masks
 * of libpfm4's events and formats of PMUs are not spelled out. */
void event_each_name(void (*f)(void *arg, const char *kind, const char *name, bool usable),
		     void *arg);

#endif

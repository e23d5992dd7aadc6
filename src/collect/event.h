/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENT_H
#define CULPRIT_COLLECT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include "util/diag.h"

/*
 * An event by name: perf's generic names ("cycles", "cache-misses", "cpu-clock", "page-faults"),
 * cache events ("L1-dcache-load-misses"), raw ("r01c2"), "pmu/terms/" from sysfs, tracepoints
 * ("sched:sched_switch"), and libpfm4's names. Modifiers after a colon: u, k, h, p (to ppp); then,
 * after another, the period: "cache-misses:u:100003". Default: no modifier, period 0 (chosen
 * later).
 */
struct event {
	char *name; /* as written, without the period; what reports show */
	struct perf_event_attr attr;
	uint64_t period;   /* 0: not given */
	bool user, kernel; /* modes sampled */
};

#define EVENTS_MAX 64

/*
 * Parses one event and proves that this machine can count it, by opening it. Errors say which it
 * is: -ENOENT: no event has this name (with the nearest names); -EOPNOTSUPP: the name is right but
 * this machine cannot count it (with why, and what could be used instead); -EINVAL: a bad modifier
 * or period; -EACCES: not allowed (with the line that mends it).
 */
int event_parse(const char *text, struct event *ret, struct diag *diag);
void event_free(struct event *e); /* what it owns, not e itself */

/* The best clock of this machine: precise cycles, cycles, else cpu-clock. why: one clause that says
 * why it is not the first choice, "" if it is; static. */
int event_default(struct event *ret, const char **ret_why, struct diag *diag);

/* perf_event_open with the right flags for a sampling event on one CPU, all processes. */
int event_open(const struct event *e, int cpu, uint64_t period, int group_fd, struct diag *diag);
/* True when counting is by time (cpu-clock, task-clock): periods are in ns. */
bool event_is_clock(const struct event *e);
/* Known names for listing: calls f for each ("kind", "name", counted by this machine?). */
void event_each_name(void (*f)(void *arg, const char *kind, const char *name, bool usable),
		     void *arg);

#endif

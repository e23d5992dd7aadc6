/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_SAMPLER_H
#define CULPRIT_COLLECT_EVENTS_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/wire.h"
#include "collect/events/event.h"
#include "db/counters.h"
#include "util/diag.h"

/*
 * The in-kernel program on its perf events: loading, attaching, flipping and draining the per-CPU
 * tables, redrawing the periods. Knows nothing of images or processes beyond the numbers that
 * the program keyed by. src/bpf/wire.h has the memory's layout and rules.
 */
struct sampler;

struct sampler_config {
	const struct event *events; /* with attr and name; borrowed for sampler_new only */
	const uint64_t *periods;    /* mean period of each, in its units */
	size_t event_count;
	bool scoped; /* only processes added by sampler_scope_add, and their children */
	bool randomize;
	uint64_t seed;	   /* of the periods */
	const char *types; /* kernel_types.h; NULL: all of the kernel's; for sampler_new only */
};

/*
 * Loads the program and opens every event on every CPU that is online, stopped. -EPERM, -EACCES:
 * what right is missing; -ENOSYS, -EOPNOTSUPP: the kernel cannot (no BPF, no BTF); with the command
 * that fixes it.
 */
int sampler_new(const struct sampler_config *config, struct sampler **ret, struct diag *diag);
void sampler_free(struct sampler *s);
/* What is loaded, as it was compiled: an ELF object of static storage. */
const void *sampler_object(size_t *ret_size);

/* Forgets what was counted before and starts all events. */
int sampler_start(struct sampler *s, struct diag *diag);
void sampler_stop(struct sampler *s);

int sampler_scope_add(struct sampler *s, pid_t tgid, struct diag *diag);
/* The same for one that may be in it already: -EEXIST. */
int sampler_scope_join(struct sampler *s, pid_t tgid, struct diag *diag);
void sampler_scope_remove(struct sampler *s, pid_t tgid);

/* Where followers of the tick find it; NULL: it is no event here. */
const struct wire_tick *sampler_tick(const struct sampler *s);
/* Takes no more ticks, for good; the other events go on. */
void sampler_drop_tick(struct sampler *s);
/* Makes a program ready to follow samples, and one to follow those of the tick, where that is an
 * event; none are followed yet. name: its name, for people. */
int sampler_set_follower(struct sampler *s, enum wire_follower follower, int program,
			 int tick_program, const char *name, struct diag *diag);
/* Has it follow one in this many samples on every CPU; 0: none. */
void sampler_follow(struct sampler *s, enum wire_follower follower, uint32_t one_in);
/* Sets whose samples are followed by the followers of one event's samples. */
void sampler_follow_event(struct sampler *s, uint32_t event);

/* Sets the mean period of each event, before or after the start. */
void sampler_set_periods(struct sampler *s, const uint64_t *means);
/*
 * Redraws the period of every event on every CPU that is not idle (DCPI, section 4.1.1), when it
 * is time: several times a second, at random times (see period.c for why). time_ns:
 * CLOCK_MONOTONIC.
 */
void sampler_redraw(struct sampler *s, uint64_t time_ns);

/* Returns when no handler runs that ran when this was called: some milliseconds asleep. */
int sampler_quiesce(struct sampler *s, struct diag *diag);

unsigned sampler_cpus(const struct sampler *s);
/* How full the fullest spill of an active table is, 0 to 1. Reads shared memory only. */
double sampler_pressure(const struct sampler *s);
/* The most samples that any CPU took since the last call. */
uint64_t sampler_busiest(struct sampler *s);

/* One drained entry: count samples of an event at a PC of a process's threads of one name. */
struct sampler_entry {
	uint64_t pc;
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first of them, to about 1 us */
	uint32_t tgid;
	uint32_t event; /* index in the configuration */
	uint32_t count;
	struct wire_name thread; /* zero: its process's name */
};

/*
 * Flips the tables of CPUs [first, first + count) and waits until no handler uses the old ones:
 * some milliseconds asleep. After that the old tables do not change until the next flip.
 */
int sampler_flip(struct sampler *s, unsigned first, unsigned count, struct diag *diag);
/* Hands each entry of the CPUs' inactive tables to take and empties them. Follows a flip. */
void sampler_drain(struct sampler *s, unsigned first, unsigned count,
		   void (*take)(void *arg, const struct sampler_entry *e), void *arg);
/* Start of the oldest table that is not drained yet: history before it is no longer needed. */
uint64_t sampler_oldest_ns(const struct sampler *s);

/* Processes whose cgroup changed since the last call and when (CLOCK_MONOTONIC), from the kernel's
 * tracepoints. */
void sampler_cgroup_changes(struct sampler *s,
			    void (*changed)(void *arg, pid_t tgid, uint64_t time_ns), void *arg);

/*
 * How many CPUs are online and not sampled, since they came online after sampler_new: a CPU's
 * events end for good when it goes. To be called now and then while the sampler runs: counts the
 * time since the last call. now_ns: CLOCK_MONOTONIC.
 */
unsigned sampler_watch_cpus(struct sampler *s, uint64_t now_ns);

struct sampler_counters {
	COUNTERS_OF_SAMPLER(COUNTER_FIELD)
};
void sampler_read_counters(const struct sampler *s, struct sampler_counters *ret);

/* Units counted and times of one event, summed over the CPUs, since the start. */
struct sampler_event_times {
	COUNTERS_OF_EVENT_TIMES(COUNTER_FIELD)
};
int sampler_read_event(const struct sampler *s, size_t event, struct sampler_event_times *ret);

/*
 * Attaches the program, or the one that does nothing, to a perf event of the caller's, for the
 * governor's and the benchmark's measurements before the start. Returns the link, a descriptor to
 * close.
 */
int sampler_attach(struct sampler *s, int perf_fd, bool nothing, struct diag *diag);

#endif

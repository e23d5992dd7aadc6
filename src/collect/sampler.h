/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SAMPLER_H
#define CULPRIT_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/wire.h"
#include "collect/event.h"
#include "util/diag.h"

/*
 * The in-kernel program on its perf events: loading, attaching, flipping and draining the per-CPU
 * tables, drawing the periods anew. Knows nothing of images or processes beyond the numbers that
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
 * what right is missing; -ENOSYS, -EOPNOTSUPP: the kernel cannot (no BPF, no BTF); with the mending
 * line.
 */
int sampler_new(const struct sampler_config *config, struct sampler **ret, struct diag *diag);
void sampler_free(struct sampler *s);
/* What is loaded, as it was compiled: an ELF object of static storage. */
const void *sampler_object(size_t *ret_size);

/* Forgets what was counted before and starts all events. */
int sampler_start(struct sampler *s, struct diag *diag);
void sampler_stop(struct sampler *s);

int sampler_scope_add(struct sampler *s, pid_t tgid, struct diag *diag);
/* The same for one that may be in it by now: -EEXIST. */
int sampler_scope_join(struct sampler *s, pid_t tgid, struct diag *diag);
void sampler_scope_remove(struct sampler *s, pid_t tgid);

/* Has the interpreter (windows_program) ready to follow samples; none are followed yet. */
int sampler_set_interpreter(struct sampler *s, int program, struct diag *diag);
/* Has it follow one in so many of an event's samples of user mode, on every CPU; 0: none. */
void sampler_interpret(struct sampler *s, uint32_t event, uint16_t one_in);

/* The same for the unwinder (unwinder_program), and one in so many samples of all events. */
int sampler_set_unwinder(struct sampler *s, int program, struct diag *diag);
void sampler_unwind(struct sampler *s, uint32_t one_in);

/* Sets the mean period of each event, before or after the start. */
void sampler_set_periods(struct sampler *s, const uint64_t *means);
/*
 * Draws the period of every event anew on every CPU that is not idle (DCPI, section 4.1.1), when it
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
	struct wire_name thread; /* zero: called as its process */
};

/*
 * Flips the tables of CPUs [first, first + count) and waits until no handler uses the old ones:
 * some milliseconds asleep. After it the old tables hold still until the next flip.
 */
int sampler_flip(struct sampler *s, unsigned first, unsigned count, struct diag *diag);
/* Hands each entry of the CPUs' inactive tables to take and empties them. Follows a flip. */
void sampler_drain(struct sampler *s, unsigned first, unsigned count,
		   void (*take)(void *arg, const struct sampler_entry *e), void *arg);
/* Start of the oldest table that is not drained yet: history before it is of no more use. */
uint64_t sampler_oldest_ns(const struct sampler *s);

/* Processes whose cgroup changed since the last call and when (CLOCK_MONOTONIC), from the kernel's
 * tracepoints. */
void sampler_cgroup_changes(struct sampler *s,
			    void (*changed)(void *arg, pid_t tgid, uint64_t time_ns), void *arg);

/*
 * How many CPUs are online and not sampled, since they came online after sampler_new: a CPU's
 * events end for good when it goes. For a running sampler, now and then: counts the time since the
 * last call. now_ns: CLOCK_MONOTONIC.
 */
unsigned sampler_watch_cpus(struct sampler *s, uint64_t now_ns);

struct sampler_counters {
	uint64_t samples, hits, inserts, evictions;
	uint64_t lost_spill;	/* samples lost to a full spill */
	uint64_t outside;	/* interrupts outside the scope */
	uint64_t scope_refused; /* processes not followed: scope map full */
	uint64_t notices_lost;	/* cgroup changes not noticed */
	uint64_t names_refused; /* samples charged to their process without their thread's name */
	uint64_t missed_ns;	/* of CPUs, as sampler_watch_cpus found them */
	uint64_t idle;		/* interrupts of idle CPUs, of the samples and of what is outside */
	uint64_t redraws;	/* of one CPU's periods, each an interrupt there */
	/* The programs that follow forks, ends and moves of processes, on whatever CPU. */
	uint64_t program_runs, program_ns;
};
void sampler_read_counters(const struct sampler *s, struct sampler_counters *ret);

/* Units counted and times of one event, summed over the CPUs, since the start. */
struct sampler_event_times {
	uint64_t value, enabled_ns, running_ns;
};
int sampler_read_event(const struct sampler *s, size_t event, struct sampler_event_times *ret);

/*
 * Attaches the program, or the one that does nothing, to a perf event of the caller's, for the
 * governor's and the benchmark's measurements before the start. The link, a descriptor to close.
 */
int sampler_attach(struct sampler *s, int perf_fd, bool nothing, struct diag *diag);
/* For the benchmark: before the start, gives every event the program that does nothing instead. */
int sampler_nothing(struct sampler *s, struct diag *diag);
/* Total run time and runs of the sampling program or the one that does nothing, while the kernel
 * keeps BPF statistics. */
int sampler_read_cost(const struct sampler *s, bool nothing, uint64_t *ret_ns, uint64_t *ret_runs);

#endif

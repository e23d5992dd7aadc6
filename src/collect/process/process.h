/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_PROCESS_H
#define CULPRIT_COLLECT_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/process/files.h"
#include "collect/process/sideband.h"
#include "collect/process/space.h"
#include "db/counters.h"

/*
 * Every process, and what it was when: a life is the time from a fork, an exec, a move to another
 * cgroup or the start of collection to the next of them or the end. A sample belongs to the life of
 * its PID at its time.
 */
struct processes;

#define PROCESS_COMM_MAX 64
#define PROCESS_MEMOS	 16 /* pairs; the front of a pair is the newer */

/* The last profile of a file and an event: saves look-ups for the samples that follow. */
struct process_memo {
	uint64_t what; /* names the file or kernel region */
	uint32_t event, batch_number, profile;
	uint32_t thread; /* see subject_thread() */
};

struct process {
	pid_t pid, parent;
	uint64_t born_ns, ended_ns; /* of this life; ended: UINT64_MAX while it lasts */
	uint64_t started_ns;	    /* of the process: names its JIT image */
	char comm[PROCESS_COMM_MAX];
	size_t comm_size;
	struct space *space;   /* NULL: not known (the process was gone before it was seen) */
	struct process *older; /* the life before */
	uint32_t forebears;    /* how many there are before it; correct for the newest only */
	/* Kept by the owner of the samples: see subject.h and resolve.c of collect/process. */
	char *cgroup;	     /* NULL: not looked up */
	bool jit_sampled;    /* samples fell into code made at run time */
	char *jitdump;	     /* path of a jitdump file it has mapped */
	int map_fd, dump_fd; /* 1 + a descriptor of its perf map and jitdump file, 0: none */
	/* When these are looked for again, and how long after that if they are not there. */
	uint64_t jit_next_ns, jit_wait_ns;
	void *subject;
	size_t subject_size;
	uint32_t subject_number, subject_index; /* batch number and index in it */
	struct thread_subject *threads; /* names of threads: see collect/process/subject.h */
	uint32_t thread_count;
	struct process_memo memo[PROCESS_MEMOS];
	bool leader_gone;      /* its main thread has ended */
	uint64_t scan_next_ns; /* before that it is not read from /proc again */
};

/* files is borrowed. */
struct processes *processes_new(struct files *files);
void processes_free(struct processes *p);

/*
 * Reads /proc: all processes, or one. What is already known of a process is kept. time_ns: now,
 * which the mappings count as born at (0 at the start: they were there before).
 */
int processes_scan(struct processes *p, uint64_t time_ns, struct diag *diag);
int processes_scan_one(struct processes *p, pid_t pid, uint64_t time_ns);
/*
 * catch_up is called when a process has been read from /proc and before anything of that is kept;
 * it hands over the records made up to then (processes_take). Without it a process that became
 * another program meanwhile would leave that one's mappings to the one before.
 */
void processes_set_catch_up(struct processes *p, void (*catch_up)(void *arg), void *arg);
/*
 * Looks at processes of which records were left out, or which a scan passed over because the last
 * look at them took long: as many as it may now (CLOCK_MONOTONIC), the others another time.
 */
void processes_scan_due(struct processes *p, uint64_t now_ns);

/* A record of the kernel, in order of time. */
void processes_take(struct processes *p, const struct sideband_record *r);

/* pid was moved to another cgroup: samples taken before go on belonging to the former one. */
void processes_move(struct processes *p, pid_t pid, uint64_t time_ns);

/* The life of pid at that time; NULL when it is not known: better unknown than another's. */
struct process *processes_find(struct processes *p, pid_t pid, uint64_t time_ns);
/* The newest life of pid, NULL when it is not known. */
struct process *processes_newest(struct processes *p, pid_t pid);

/* Calls f for every life that is known. f must not add or remove any. */
void processes_each(struct processes *p, void (*f)(void *arg, struct process *process), void *arg);

/* Forgets lives and mappings that ended before the time given; checks whether those whose main
 * thread has ended are still there. One that is gone counts as ended at now_ns, since it may have
 * samples up to then. ending, which may be NULL, sees each life before it goes. */
void processes_collect(struct processes *p, uint64_t before_ns, uint64_t now_ns,
		       void (*ending)(void *arg, struct process *process), void *arg);

struct processes_counters {
	COUNTERS_OF_PROCESSES(COUNTER_FIELD)
};
void processes_read_counters(const struct processes *p, struct processes_counters *ret);
/* True once after the kernel lost records: the owner scans again. */
bool processes_must_rescan(struct processes *p);

#endif

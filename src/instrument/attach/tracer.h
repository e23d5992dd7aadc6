/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_TRACER_H
#define CULPRIT_INSTRUMENT_ATTACH_TRACER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "util/diag.h"

/*
 * The threads that one thread of ours traces (ptrace(2), by PTRACE_SEIZE), and their descendants by
 * clone, fork and vfork. All calls are made by that one thread, which has no other children. If it
 * dies, the kernel lets the traced threads go on where they are. For this reason a signal that is
 * being delivered is only looked at (WNOWAIT), never taken from the kernel, and no thread is ever
 * single-stepped (the trap flag would stay set).
 */
struct tracee {
	pid_t tid, tgid;
	bool stopped;	 /* its registers can be had */
	bool grouped;	 /* in that stop by job control, and stays there after it */
	bool in_call;	 /* stopped in the middle of a system call, by an event of it */
	bool asked;	 /* to stop */
	bool born;	 /* was seen; until then only its parent told of it */
	bool held;	 /* does not go on before its family is resumed */
	bool gone;	 /* has ended, which will be told later */
	bool stuck;	 /* did not stop in time: not waited for until it is seen again */
	bool unwanted;	 /* set by a callback: to be released */
	pid_t vforked;	 /* waits in the kernel for this child of its, and cannot be stopped; 0 */
	uint64_t family; /* with whom it is stopped; 0: not known yet, with anybody */
	void *space;	 /* of who uses the tracer */
	uint32_t table;	 /* likewise */
};

struct tracer_ops {
	/* A new thread, stopped at its first instruction. */
	void (*born)(void *arg, struct tracee *e);
	/* A thread is gone; of a process's first thread the process, with its status. */
	void (*ended)(void *arg, const struct tracee *e, const siginfo_t *status);
	/* A process has become another program, and this thread its only one; the others that are
	 * listed are gone, and will be dropped untold. If it is `held` now, it will stop before the
	 * first instruction. */
	void (*became)(void *arg, struct tracee *e);
};

struct tracer {
	struct tracee **list;
	size_t count, room;
	bool stopping;
	uint64_t family;      /* who is to stop; 0: all */
	uint64_t patience_ns; /* that a stop may take; 0: STOP_DEADLINE_NS */
	const struct tracer_ops *ops;
	void *arg;
};

/* Every thread of a process. -EPERM and others, with the reason; then none is left traced. */
int tracer_seize(struct tracer *t, pid_t pid, struct diag *diag);
/* Seizes the threads of a process that are not traced yet. How many, or a negative errno. */
int tracer_seize_more(struct tracer *t, pid_t pid);
/* Stops a family, 0: all. -EAGAIN: a thread does not come out of the kernel (at once if it already
 * failed to); then all go on. */
int tracer_stop(struct tracer *t, uint64_t family, struct diag *diag);
void tracer_resume(struct tracer *t);
void tracer_resume_all(struct tracer *t);
/* Resumes them, for a short while that grows with each try, and stops them again. */
int tracer_stir(struct tracer *t, unsigned try, struct diag *diag);
/* Handles their events; wait: blocks until there is one. Returns how many there were, -ECHILD when
 * no thread is left, -EINTR. */
int tracer_serve(struct tracer *t, bool wait);
/* Releases all threads and frees the list. Returns how many are blocked in the kernel: those are
 * released when they come out, by tracer_serve or tracer_let_go, or when our thread ends. */
size_t tracer_close(struct tracer *t);
/* Releases those that have come out. Returns how many have not. */
size_t tracer_let_go(void);

/* The line `key:` of /proc/PID/task/TID/status (TID 0: of /proc/PID), its first number in base 10;
 * a letter's code for the state. fallback when it cannot be had. */
long tracer_status(pid_t pid, pid_t tid, const char *key, long fallback);
/* Whether a thread has ended, or does not exist. */
bool tracer_is_dead(pid_t pid, pid_t tid);

#endif

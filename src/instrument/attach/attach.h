/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_ATTACH_H
#define CULPRIT_INSTRUMENT_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "db/counters.h"
#include "instrument/code.h"
#include "util/diag.h"

/*
 * Puts copies of functions, with counters in them, into a running, unmodified program and all that
 * it forks meanwhile, and removes them again. doc/instrument.md says how, and what is left if the
 * caller dies at any moment. All calls must come from one thread, which traces the program and must
 * have no other children than those that it traces: see tracer.h.
 */
struct attach;

struct attach_ops {
	/* A traced process ended, with the status that wait gives. May be NULL. */
	void (*ended)(void *arg, pid_t pid, int status);
	/* A process has become another program (exec), which has no copies. True keeps it, stopped
	 * before its first instruction until the next attach_apply() to it or attach_remove();
	 * false or no function lets it go.
	 */
	bool (*became)(void *arg, pid_t pid);
	/* Whether the caller wants to be done: the stacks of all that is left to be looked at then
	 * have one limit together. May be NULL. */
	bool (*is_ending)(void *arg);
	/* A table of a thread that has ended or lost its copies is about to be added to the sums:
	 * so many slots, which may be changed. May be NULL. */
	void (*settle)(void *arg, uint64_t *table, uint32_t slots);
	void *arg;
};

/* What was met, for reports. */
struct attach_counters {
	COUNTERS_OF_ATTACH(COUNTER_FIELD)
	struct diag forks_why, execs_why; /* of the first that was not counted */
};

/* What became of a function that was to be replaced by its copy. */
enum attach_taken {
	ATTACH_TAKEN,
	ATTACH_CHANGED,	  /* its code is not what the copy was made of */
	ATTACH_ANONYMOUS, /* made at run time, or shared: no private mapping of a file */
	ATTACH_CROSSES,	  /* a patch lies on two pages: they cannot be written in one step */
	ATTACH_REMOTE,	  /* reading its file may block for ever: FUSE, network */
	ATTACH_TAKEN_COUNT
};
const char *attach_taken_name(enum attach_taken taken);

/*
 * Traces a process and all its threads, and removes what a culprit that died has left in it. ops
 * and its arg are borrowed. Fails, with the reason in one line, if the program must not be touched:
 * -EBUSY (traced already, %gs in use), -EPERM, -ENOEXEC (not a 64-bit program), -ESRCH, ...
 */
int attach_open(pid_t pid, const struct attach_ops *ops, struct attach **ret, struct diag *diag);
/*
 * Removes all copies and lets all processes go on untraced. NULL is fine. Returns how many threads
 * are blocked in the kernel and cannot be released yet: when they come out they stand still until
 * any attach_serve of our thread releases them, or our thread ends.
 */
size_t attach_close(struct attach *a);

/*
 * Finds room in a process for copies of the code from start to end, within reach of a jump from
 * there; ret: the address for the first copy. 0, -ENOSPC.
 */
int attach_find_room(pid_t pid, uint64_t start, uint64_t end, uint64_t bytes, uint64_t *ret,
		     struct diag *diag);
/*
 * Puts copies into a process, at their addresses, all within the room that attach_find_room found,
 * with counters for slots 0 to slots - 1 in each of its threads. taken: what became of each copy;
 * copies that are not ATTACH_TAKEN are left out. While the process has copies, slots must not
 * exceed those of the first call. The copies remain the caller's. Everything that was stopped for
 * this goes on afterwards, also on failure. A failure leaves the copies that were there before, but
 * for one while patches were being written: then all are taken out (attach_slots is 0).
 */
int attach_apply(struct attach *a, pid_t pid, uint64_t room, const struct instrument_code *codes,
		 size_t count, uint32_t slots, enum attach_taken *taken, struct diag *diag);
/* The number of the file that a process's copies in a room lie in; 0: it has none there. */
uint64_t attach_inode(const struct attach *a, pid_t pid, uint64_t room);
/* The processes that have copies: how many, max at most. */
size_t attach_processes(const struct attach *a, pid_t *pids, size_t max);
/* How many counters the threads of a process have room for; 0: it has no copies. */
uint32_t attach_slots(const struct attach *a, pid_t pid);
/* Removes all copies from all processes. -EBUSY: something harmless had to stay; diag says why. */
int attach_remove(struct attach *a, struct diag *diag);

/*
 * Moves all processes into the copies that were mapped by attach_apply(), and out of them again,
 * while the copies stay mapped: for counting in bursts. Both leave everything stopped until
 * attach_go_on(), also on failure. Copies whose code has changed are not entered (entries_stale).
 * -EAGAIN, -EBUSY: not possible now; some patches may be in place, so attach_leave() must follow.
 */
int attach_enter(struct attach *a, struct diag *diag);
int attach_leave(struct attach *a, struct diag *diag);
/* How long to wait for a thread that does not stop, while the others stand still; 0: 5 s. */
void attach_be_patient(struct attach *a, unsigned ms);

/*
 * For copies in which threads wait until they are let on (gates): slot `entered` counts arrivals;
 * a thread may go on when slot `passed` has reached the same number, and raises it further if it
 * gives up waiting. Lists the processes with waiting threads, each once; returns how many, max at
 * most.
 */
size_t attach_waiting(struct attach *a, uint32_t entered, uint32_t passed, pid_t *pids, size_t max);
/* Lets the threads of a process on. If they have waited too often in a row without getting new
 * copies, they will not wait again (gates_left_open). */
void attach_let_on(struct attach *a, pid_t pid, uint32_t entered, uint32_t passed);
/* Lets all threads on and opens all gates for good; before copies are removed. */
void attach_let_all_on(struct attach *a, uint32_t passed);

/* Stops a process, and those that share its copies by memory or by fork, while new copies are
 * prepared; until attach_go_on or attach_apply. All others run on, here and in attach_apply, since
 * any of them could be slow to stop. */
int attach_hold(struct attach *a, pid_t pid, struct diag *diag);
void attach_go_on(struct attach *a);
/*
 * Maps the counters of a process before its copies, as the first attach_apply would do: the kernel
 * chooses their address, which could be in the room that attach_find_room has just found. The
 * processes are held.
 */
int attach_prepare(struct attach *a, pid_t pid, uint32_t slots, struct diag *diag);
/* Why a process must not be touched, as far as that can be told from outside; also for one that is
 * traced and has become another program. */
int attach_refuse(pid_t pid, struct diag *diag);

/*
 * Handles events: new threads, signals, ends. Must be called often, because the program stands
 * still at each event. wait: blocks until there is one. Returns how many there were; -ECHILD: all
 * have ended; -EINTR. With a NULL, releases the threads that attach_close could not release, and
 * returns how many are left.
 */
int attach_serve(struct attach *a, bool wait);

/* The sums of the counters over all threads, including those that have ended: 64 bits a slot. */
void attach_read(const struct attach *a, uint64_t *counts, uint32_t slots);
const struct attach_counters *attach_counters(const struct attach *a);

#endif

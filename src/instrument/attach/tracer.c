/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/tracer.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "util/array.h"
#include "util/clock.h"
#include "util/proc.h"

#define STOP_DEADLINE_NS 5000000000ULL
#define LATE_MAX	 4096
#define SERVED_MAX	 4096 /* events, before who asked has the word again */
#define IO_WORKER	 0x10 /* PF_IO_WORKER of the kernel's include/linux/sched.h */
#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC)

long tracer_status(pid_t pid, pid_t tid, const char *key, long fallback)
{
	char *value = proc_read_status(pid, tid, key);

	if (value)
		fallback = isdigit((unsigned char)*value) ? strtol(value, NULL, 10) : *value;
	free(value);
	return fallback;
}

static struct tracee *tracer_find(const struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i]->tid == tid)
			return t->list[i];
	return NULL;
}

static struct tracee *add(struct tracer *t, pid_t tid)
{
	struct tracee *e = calloc(1, sizeof(*e));

	if (!e || array_grow(&t->list, t->count, &t->room, sizeof(*t->list), 16)) {
		free(e);
		return NULL;
	}
	e->tid = tid;
	e->tgid = tracer_status(tid, 0, "Tgid", tid);
	t->list[t->count++] = e;
	return e;
}

static void drop(struct tracer *t, struct tracee *e)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i] == e)
			t->list[i] = t->list[--t->count];
	free(e);
}

/* No longer traced; goes on, or stays stopped where job control stopped it. */
static void release(struct tracer *t, struct tracee *e)
{
	ptrace(PTRACE_DETACH, e->tid, 0, 0);
	drop(t, e);
}

/* Threads that had to be let go and did not stop, which only the thread that traces them can do. */
static _Thread_local struct late {
	pid_t tids[LATE_MAX];
	size_t count;
} late;

static bool is_late(pid_t tid)
{
	for (size_t i = 0; i < late.count; i++)
		if (late.tids[i] == tid)
			return true;
	return false;
}

static void add_late(pid_t tid)
{
	if (late.count < LATE_MAX && !is_late(tid))
		late.tids[late.count++] = tid;
}

/* The thread has stopped, or ended. What it has just made is traced from its birth on. */
static void let_go(pid_t tid, const siginfo_t *info)
{
	const int event = info->si_status >> 8;
	unsigned long child = 0;
	bool parent = event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
		      event == PTRACE_EVENT_VFORK;

	if (info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED) {
		waitid(P_PID, tid, &(siginfo_t){0}, WEXITED | WNOHANG | __WALL);
		return;
	}
	if (parent && !ptrace(PTRACE_GETEVENTMSG, tid, 0, &child))
		add_late((pid_t)child);
	ptrace(PTRACE_DETACH, tid, 0, event ? 0 : info->si_status & 0xff);
}

size_t tracer_let_go(void)
{
	for (size_t i = 0; i < late.count;) {
		const pid_t tid = late.tids[i];
		siginfo_t info = {0};
		int r = waitid(P_PID, tid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL);

		if (!r && !info.si_pid) {
			i++;
			continue;
		}
		late.tids[i] = late.tids[--late.count];
		if (!r)
			let_go(tid, &info);
	}
	return late.count;
}

bool tracer_is_dead(pid_t pid, pid_t tid)
{
	long state = tracer_status(pid, tid, "State", 'X');

	return state == 'Z' || state == 'X';
}

/* One of io_uring's, which are the process's and run in the kernel alone: there is no code to move
 * it from, and no stack to look at. */
static bool is_io_worker(pid_t tid)
{
	struct proc_stat stat;

	return !proc_read_stat(tid, &stat) && (stat.flags & IO_WORKER);
}

/* Of a thread that could not be seized, whether it need not be: gone, or ours by birth. */
static bool is_settled(pid_t pid, pid_t tid)
{
	return tracer_is_dead(pid, tid) || tracer_status(pid, tid, "TracerPid", 0) == gettid();
}

int tracer_seize_more(struct tracer *t, pid_t pid)
{
	struct dirent *entry;
	int seized = 0, r = 0;
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	while (!r && (entry = readdir(tasks))) {
		pid_t tid = atoi(entry->d_name);
		struct tracee *e;

		if (!tid || tracer_find(t, tid) || is_io_worker(tid))
			continue;
		e = add(t, tid);
		if (!e) {
			r = -ENOMEM;
		} else if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS)) {
			r = errno == ESRCH || is_settled(pid, tid) ? 0 : -errno;
			drop(t, e);
		} else {
			e->born = true;
			seized++;
		}
	}
	closedir(tasks);
	return r ? r : seized;
}

int tracer_seize(struct tracer *t, pid_t pid, struct diag *diag)
{
	struct tracee *e = add(t, pid);
	int r;

	if (!e)
		return diag_fail(diag, ENOMEM, "out of memory");
	tracer_let_go();
	/* The first thread is the lock: of two that come at once, one gets it. */
	if (ptrace(PTRACE_SEIZE, pid, 0, OPTIONS)) {
		r = errno;
		drop(t, e);
		return diag_fail(diag, r, "process %d cannot be traced: %s", (int)pid, strerror(r));
	}
	e->born = true;
	do
		r = tracer_seize_more(t, pid);
	while (r > 0);
	return r ? diag_fail(diag, -r, "a thread of process %d cannot be traced: %s", (int)pid,
			     strerror(-r))
		 : 0;
}

static bool is_meant(const struct tracer *t, const struct tracee *e)
{
	return !t->family || !e->family || e->family == t->family;
}

static bool shall_stop(const struct tracer *t, const struct tracee *e)
{
	return t->stopping && is_meant(t, e);
}

static void resume(struct tracer *t, struct tracee *e)
{
	if (!e->stopped || e->held || shall_stop(t, e))
		return;
	e->stopped = e->in_call = e->asked = false;
	ptrace(e->grouped ? PTRACE_LISTEN : PTRACE_CONT, e->tid, 0, 0);
}

void tracer_resume(struct tracer *t)
{
	t->stopping = false;
	for (size_t i = 0; i < t->count; i++) {
		if (is_meant(t, t->list[i]))
			t->list[i]->held = false;
		resume(t, t->list[i]);
	}
}

void tracer_resume_all(struct tracer *t)
{
	t->family = 0;
	tracer_resume(t);
}

/* Takes the report of a stop out of the kernel, after which no wait tells of it again. */
static void consume(pid_t tid)
{
	siginfo_t info;

	waitid(P_PID, tid, &info, WSTOPPED | WEXITED | WNOHANG | __WALL);
}

/* The parent's word of a child; the child has stopped by itself, or will. */
static void announce(struct tracer *t, pid_t child)
{
	if (child && !tracer_find(t, child) && tracer_status(child, 0, "TracerPid", 0) == gettid())
		add(t, child);
}

static void take_exec(struct tracer *t, struct tracee *e)
{
	consume(e->tid);
	t->ops->became(t->arg, e);
	for (size_t i = t->count; i-- > 0;)
		if (t->list[i]->tgid == e->tgid && t->list[i] != e)
			drop(t, t->list[i]);
	if (e->unwanted) {
		release(t, e);
		return;
	}
	/* From the event on to a stop of the usual kind, before the first instruction. */
	e->vforked = 0;
	e->asked = e->held || shall_stop(t, e);
	if (e->asked)
		ptrace(PTRACE_INTERRUPT, e->tid, 0, 0);
	ptrace(PTRACE_CONT, e->tid, 0, 0);
}

static void take_event(struct tracer *t, struct tracee *e, int event)
{
	unsigned long child = 0;
	struct tracee *born;

	ptrace(PTRACE_GETEVENTMSG, e->tid, 0, &child);
	if (event != PTRACE_EVENT_VFORK_DONE)
		announce(t, (pid_t)child);
	e->vforked = event == PTRACE_EVENT_VFORK ? (pid_t)child : 0;
	born = e->vforked && shall_stop(t, e) ? tracer_find(t, e->vforked) : NULL;
	if (born) {
		/* Stays here until its child, which stops at its beginning, goes on too. */
		consume(e->tid);
		e->stopped = e->in_call = true;
		return;
	}
	ptrace(PTRACE_CONT, e->tid, 0, 0);
}

static void take_stop(struct tracer *t, struct tracee *e, int status)
{
	int signal = status & 0xff, event = status >> 8;

	e->asked = e->stuck = false; /* any stop takes that back */
	if (event == PTRACE_EVENT_EXEC) {
		take_exec(t, e);
	} else if (event && event != PTRACE_EVENT_STOP) {
		take_event(t, e, event);
	} else if (event) {
		consume(e->tid);
		e->stopped = true;
		e->grouped = signal != SIGTRAP;
		if (!e->born)
			t->ops->born(t->arg, e);
		e->born = true;
		if (e->unwanted)
			release(t, e);
		else
			resume(t, e);
	} else {
		ptrace(PTRACE_CONT, e->tid, 0, signal);
	}
}

/* One event: 1, 0 when there is none, -errno. */
static int serve_one(struct tracer *t, bool wait)
{
	siginfo_t info = {0};
	struct tracee *e;

	if (waitid(P_ALL, 0, &info,
		   WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD | (wait ? 0 : WNOHANG)))
		return -errno;
	if (!info.si_pid)
		return 0;
	if (is_late(info.si_pid)) {
		tracer_let_go();
		return 1;
	}
	e = tracer_find(t, info.si_pid);
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		consume(info.si_pid);
		if (e) {
			t->ops->ended(t->arg, e, &info);
			drop(t, e);
		}
		return 1;
	}
	if (!e)
		e = add(t, info.si_pid);
	if (!e)
		return -ENOMEM;
	take_stop(t, e, info.si_status);
	return 1;
}

int tracer_serve(struct tracer *t, bool wait)
{
	int served = 0, r = 0;

	/* There may always be another: threads that signal themselves without end. */
	while (served < SERVED_MAX && (r = serve_one(t, wait && !served)) > 0)
		served++;
	return served ? served : r;
}

/* Whether it runs because another, which the kernel does not let go before, waits for it. */
static bool is_awaited(const struct tracer *t, const struct tracee *e)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i]->vforked == e->tgid && !t->list[i]->stopped)
			return true;
	return false;
}

/* Asks all that run and shall not to stop; one that has not yet, NULL: all have. */
static struct tracee *ask(struct tracer *t)
{
	struct tracee *waited = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct tracee *e = t->list[i];
		bool awaited = !e->stopped && e->born ? is_awaited(t, e) : false;

		if (!shall_stop(t, e))
			continue;
		if (e->stopped && e->born && is_awaited(t, e)) {
			bool stopping = t->stopping;

			t->stopping = false;
			resume(t, e);
			t->stopping = stopping;
			awaited = true;
		}
		if (!e->stopped && !e->gone)
			waited = e;
		if (!e->stopped && e->born && !awaited && !e->asked)
			e->asked = !ptrace(PTRACE_INTERRUPT, e->tid, 0, 0);
	}
	return waited;
}

/* NULL: all have stopped; else who does not. */
static const struct tracee *stop_family(struct tracer *t, uint64_t family)
{
	uint64_t begun = clock_monotonic_ns();
	const uint64_t patience = t->patience_ns ? t->patience_ns : STOP_DEADLINE_NS;
	const struct timespec nap = {.tv_nsec = 20000};
	struct tracee *e;

	t->stopping = true;
	t->family = family;
	while ((e = ask(t))) {
		bool is_too_late = clock_monotonic_ns() - begun > patience || e->stuck;

		if (tracer_serve(t, false) > 0 && !is_too_late)
			continue;
		/* Its end is told only when all threads of its process have ended. */
		if (tracer_is_dead(e->tgid, e->tid))
			e->gone = true;
		e->stuck |= is_too_late && !e->gone;
		if (is_too_late)
			return e;
		sched_yield();
		nanosleep(&nap, NULL);
	}
	return NULL;
}

int tracer_stop(struct tracer *t, uint64_t family, struct diag *diag)
{
	const struct tracee *e = stop_family(t, family);
	int r;

	if (!e)
		return 0;
	r = diag_fail(diag, EAGAIN,
		      "thread %d of process %d does not stop: it waits in the kernel (state %c); "
		      "try again later",
		      (int)e->tid, (int)e->tgid, (int)tracer_status(e->tgid, e->tid, "State", '?'));
	tracer_resume(t);
	return r;
}

size_t tracer_close(struct tracer *t)
{
	stop_family(t, 0);
	while (t->count) {
		struct tracee *e = t->list[t->count - 1];

		if (!e->stopped && !e->gone)
			add_late(e->tid);
		release(t, e);
	}
	free(t->list);
	t->list = NULL;
	t->room = 0;
	return tracer_let_go();
}

int tracer_stir(struct tracer *t, unsigned try, struct diag *diag)
{
	const struct timespec nap = {.tv_nsec = 1000};
	uint64_t until = clock_monotonic_ns() + (1000ULL << (try < 14 ? try : 14));

	tracer_resume(t);
	/* Served meanwhile: where signals come often, nobody would get on. */
	do {
		if (tracer_serve(t, false) <= 0)
			nanosleep(&nap, NULL);
	} while (clock_monotonic_ns() < until);
	return tracer_stop(t, t->family, diag);
}

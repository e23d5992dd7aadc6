/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "instrument/attach/attach_state.h"
#include "instrument/attach/implant.h"
#include "util/proc.h"

/* It goes on with what it has, which harms nothing; that must not be kept quiet. */
static void tell_unfollowed(struct attach *a, pid_t pid, int err)
{
	if (err == ESRCH || err == ENOENT)
		return; /* ended meanwhile */
	diag_fail(
		&a->unfollowed, err,
		"process %d, forked by one that is counted, could not be followed (%s): its counts "
		"are not right, and copies of functions may stay mapped in it",
		(int)pid, strerror(err));
	if (!a->counters.forks_uncounted++)
		a->counters.forks_why = a->unfollowed;
}

static void take_born(void *arg, struct tracee *e)
{
	struct attach *a = arg;
	struct attach_space *s = attach_space_find(a, e->tgid);

	a->counters.threads++;
	if (!s) {
		a->counters.processes++;
		s = attach_space_of_child(a, e->tgid);
		if (!s && (a->tables || a->ops->became))
			tell_unfollowed(a, e->tgid, errno);
		e->unwanted = !s || (!s->implant_count && !s->tables && !a->ops->became);
	}
	if (e->unwanted) {
		if (s && !s->refs)
			attach_space_unref(a, s);
		return;
	}
	attach_space_join(s, e);
	tables_give(a, e);
}

static void leave(struct attach *a, struct tracee *e)
{
	tables_take(a, e);
	attach_space_unref(a, e->space);
	e->space = NULL;
}

static void take_ended(void *arg, const struct tracee *e, const siginfo_t *status)
{
	struct tracee gone = *e;
	struct attach *a = arg;
	int code = status->si_status & 0xff;

	leave(a, &gone);
	if (e->tid == e->tgid && a->ops->ended)
		a->ops->ended(a->ops->arg, e->tgid,
			      status->si_code == CLD_EXITED   ? code << 8
			      : status->si_code == CLD_DUMPED ? code | 0x80
							      : code);
}

static void take_exec(void *arg, struct tracee *e)
{
	struct attach *a = arg;
	struct attach_space *s;

	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->tgid == e->tgid && a->tracer.list[i]->space)
			leave(a, a->tracer.list[i]);
	e->unwanted = true;
	if (!a->ops->became)
		return;
	s = attach_space_new(a, e->tgid);
	if (!s) {
		if (!a->counters.execs_uncounted++)
			diag_fail(&a->counters.execs_why, errno,
				  "the memory of process %d cannot be opened: %s", (int)e->tgid,
				  strerror(errno));
		return;
	}
	if (!a->ops->became(a->ops->arg, e->tgid)) {
		attach_space_unref(a, s);
		return;
	}
	e->unwanted = false;
	e->held = true;
	attach_space_join(s, e);
}

static const struct tracer_ops tracer_ops = {take_born, take_ended, take_exec};

/* Whether a thread is in code that one who died has sent it to, or will return to it from a handler
 * of a signal, or cannot be looked at. */
static bool is_on_errand(struct attach *a, const struct attach_space *s,
			 const struct target_maps *maps, const struct tracee *e)
{
	struct target_frame frames[TARGET_FRAMES_MAX];
	struct user_regs_struct regs;
	bool is;
	int n;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return false;
	n = attach_find_frames(a, s, maps, regs.rsp, frames);
	is = n < 0 || call_is_in_code(maps, regs.rip);
	for (int i = 0; i < n; i++)
		is |= call_is_in_code(maps, frames[i].pc);
	return is;
}

/* Lets threads finish such errands: they are on their way out. maps: then, as they left it. */
static int wait_for_errands(struct attach *a, struct attach_space *s, struct target_maps *maps)
{
	bool busy = true;
	int r = 0;

	attach_begin_look(a);
	for (unsigned try = 0; !r && busy && attach_may_stir(a, try); try++) {
		r = attach_space_maps(a, s, maps);
		busy = false;
		for (size_t i = 0; !r && i < a->tracer.count; i++)
			if (a->tracer.list[i]->space == s)
				busy |= is_on_errand(a, s, maps, a->tracer.list[i]);
		if (busy)
			r = tracer_stir(&a->tracer, try, NULL);
	}
	return r ? r : busy ? -EAGAIN : call_clean(s->mem, maps);
}

/* What a culprit that died has left, if any. */
static int clean(struct attach *a, struct attach_space *s, struct target_maps *maps,
		 struct diag *diag)
{
	int r = wait_for_errands(a, s, maps);

	if (r == -ENOSYS)
		return diag_fail(
			diag, ENOSYS,
			"process %d has no vDSO with room behind it, from which memory could "
			"be mapped: it cannot be counted",
			(int)s->pid);
	if (r)
		return diag_fail(diag, -r,
				 "a thread of process %d has not finished what a killed culprit "
				 "began, or its stack cannot be read: try again",
				 (int)s->pid);
	r = attach_space_load(a, s, maps);
	if (r)
		attach_space_forget(a, s);
	if (r == -E2BIG)
		return diag_fail(diag, E2BIG,
				 "process %d has more mapped under the names of culprit's copies "
				 "than a killed culprit leaves behind: it is not counted",
				 (int)s->pid);
	if (r)
		return diag_fail(diag, -r,
				 "what a killed culprit left in process %d cannot be read: %s",
				 (int)s->pid, strerror(-r));
	if (!s->implant_count && !s->tables)
		return 0;
	r = attach_space_remove(a, s, diag);
	a->counters.cleaned += !r;
	return r;
}

/* With all threads seized: those that are born from now on are of its space too. */
static int settle(struct attach *a, pid_t pid, struct diag *diag)
{
	struct attach_space *s = attach_space_new(a, pid);

	if (!s)
		return diag_fail(diag, errno, "the memory of process %d cannot be opened: %s",
				 (int)pid, strerror(errno));
	for (size_t i = 0; i < a->tracer.count; i++)
		attach_space_join(s, a->tracer.list[i]);
	a->counters.threads = a->tracer.count;
	a->counters.processes = 1;
	return 0;
}

/* Now that it cannot change: whether it is still what was looked at before, and may be counted. */
static int refuse_again(struct attach *a, pid_t pid, uint64_t start, const struct target_maps *maps,
			struct diag *diag)
{
	struct proc_stat now;
	int r = proc_read_stat(pid, &now);

	if (r || now.start_ticks != start)
		return diag_fail(diag, ESRCH, "process %d has ended", (int)pid);
	if (syscall(SYS_kcmp, pid, pid, KCMP_VM, 0, 0))
		return diag_fail(diag, errno,
				 "this kernel does not tell whether other processes share the "
				 "memory of process %d (kcmp: %s): it cannot be counted",
				 (int)pid, strerror(errno));
	r = attach_refuse(pid, diag);
	for (size_t i = 0; !r && i < a->tracer.count; i++)
		r = attach_refuse_thread(a->tracer.list[i], maps, diag);
	return r;
}

/* With all threads stopped. */
static int look_at(struct attach *a, pid_t pid, uint64_t start, struct diag *diag)
{
	struct attach_space *s = attach_space_find(a, pid);
	struct target_maps maps = {0};
	int r;

	if (!s)
		return diag_fail(diag, ESRCH, "process %d has ended", (int)pid);
	s->refs++;
	r = attach_space_gather(a, s, diag);
	if (!r) {
		r = attach_space_maps(a, s, &maps);
		if (r)
			r = diag_fail(diag, -r, "the mappings of process %d cannot be read: %s",
				      (int)pid, strerror(-r));
	}
	r = r ? r : refuse_again(a, pid, start, &maps, diag);
	r = r ? r : clean(a, s, &maps, diag);
	target_maps_free(&maps);
	attach_space_unref(a, s);
	return r;
}

int attach_open(pid_t pid, const struct attach_ops *ops, struct attach **ret, struct diag *diag)
{
	struct proc_stat stat = {0};
	int r = proc_read_stat(pid, &stat);
	struct attach *a;

	/* Its number may be another's by the time that it is traced. */
	r = r == -EBADMSG ? diag_fail(diag, -r, "/proc/%d/stat cannot be understood", (int)pid)
			  : attach_refuse(pid, diag);
	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	if (!a)
		return diag_fail(diag, ENOMEM, "out of memory");
	a->ops = ops;
	a->tracer.ops = &tracer_ops;
	a->tracer.arg = a;
	r = tracer_seize(&a->tracer, pid, diag);
	if (r == -EPERM || r == -ESRCH)
		r = attach_refuse_traced(pid, -r, diag);
	r = r ? r : settle(a, pid, diag);
	r = r ? r : tracer_stop(&a->tracer, 0, diag);
	if (!r) {
		r = look_at(a, pid, stat.start_ticks, diag);
		tracer_resume(&a->tracer);
	}
	if (r)
		attach_close(a);
	else
		*ret = a;
	return r;
}

size_t attach_close(struct attach *a)
{
	size_t late;

	if (!a)
		return 0;
	attach_spaces_remove(a, NULL);
	late = tracer_close(&a->tracer);
	while (a->spaces) {
		a->spaces->refs = 0;
		attach_space_unref(a, a->spaces);
	}
	free(a->totals);
	free(a);
	return late;
}

int attach_serve(struct attach *a, bool wait)
{
	return a ? tracer_serve(&a->tracer, wait) : (int)tracer_let_go();
}

const struct attach_counters *attach_counters(const struct attach *a)
{
	return &a->counters;
}

size_t attach_processes(const struct attach *a, pid_t *pids, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < a->tracer.count && count < max; i++) {
		const struct tracee *e = a->tracer.list[i];
		const struct attach_space *s = e->space;
		size_t k = 0;

		while (k < count && pids[k] != e->tgid)
			k++;
		if (k == count && s && s->implant_count)
			pids[count++] = e->tgid;
	}
	return count;
}

uint64_t attach_inode(const struct attach *a, pid_t pid, uint64_t room)
{
	const struct attach_space *s = attach_space_find(a, pid);

	for (size_t i = 0; s && i < s->implant_count; i++)
		if (s->implants[i]->base == room - IMPLANT_HEADER_BYTES)
			return s->implants[i]->inode;
	return 0;
}

void attach_be_patient(struct attach *a, unsigned ms)
{
	a->tracer.patience_ns = ms * 1000000ull;
	/* Who did not stop in so short a time may in another. */
	for (size_t i = 0; i < a->tracer.count; i++)
		a->tracer.list[i]->stuck = false;
}

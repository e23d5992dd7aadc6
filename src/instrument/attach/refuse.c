/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include "util/io.h"
#include "util/proc.h"

#define KTHREADD 2    /* whose children the kernel's threads are */
#define CODE_64	 0x33 /* the selector of 64-bit code */

/* A line of a small file as a number; fallback. */
static long read_setting(const char *path, long fallback)
{
	char *text;
	size_t size;

	if (io_read_file(path, 64, &text, &size))
		return fallback;
	fallback = strtol(text, NULL, 10);
	free(text);
	return fallback;
}

/* Of the four numbers of a line "Uid" the second and third must be the first. */
static bool changes_identity(pid_t pid, const char *key)
{
	char *line = proc_read_status(pid, 0, key);
	unsigned real, effective, saved;
	bool changes = line && sscanf(line, "%u %u %u", &real, &effective, &saved) == 3 &&
		       (real != effective || real != saved);

	free(line);
	return changes;
}

int attach_refuse(pid_t pid, struct diag *diag)
{
	long state = tracer_status(pid, 0, "State", 0), tracer;
	int n = (int)pid;

	if (!state)
		return diag_fail(diag, ESRCH, "there is no process %d", n);
	if (state == 'Z' || state == 'X')
		return diag_fail(diag, ESRCH,
				 "process %d has ended (its parent has not waited for it), or its "
				 "first thread has: nothing of it can be counted",
				 n);
	if (tracer_status(pid, 0, "Tgid", pid) != pid)
		return diag_fail(diag, EINVAL, "%d is a thread: name its process, %ld", n,
				 tracer_status(pid, 0, "Tgid", pid));
	if (pid == getpid())
		return diag_fail(diag, EINVAL, "process %d is this one", n);
	if (tracer_status(pid, 0, "PPid", 0) == KTHREADD || pid == KTHREADD)
		return diag_fail(diag, EINVAL,
				 "process %d is a thread of the kernel: it has no program", n);
	tracer = tracer_status(pid, 0, "TracerPid", 0);
	if (tracer && tracer != gettid())
		return attach_refuse_traced(pid, EBUSY, diag);
	if (changes_identity(pid, "Uid") || changes_identity(pid, "Gid"))
		return diag_fail(diag, EPERM,
				 "process %d is set-user-ID or has changed its user: it is not "
				 "counted; start it as the user that it runs as",
				 n);
	if (tracer_status(pid, 0, "Seccomp", 0))
		return diag_fail(diag, EPERM,
				 "process %d filters its system calls (seccomp): mapping memory in "
				 "it could kill it; start it without the filter",
				 n);
	return 0;
}

int attach_refuse_traced(pid_t pid, int err, struct diag *diag)
{
	long tracer = tracer_status(pid, 0, "TracerPid", 0), yama;

	if (tracer)
		return diag_fail(
			diag, EBUSY,
			"process %d is traced by process %ld (a debugger, strace, or another "
			"culprit): end that first",
			(int)pid, tracer);
	if (err != EPERM)
		return diag_fail(diag, err, "process %d cannot be traced: %s", (int)pid,
				 strerror(err));
	yama = read_setting("/proc/sys/kernel/yama/ptrace_scope", 0);
	if (yama == 3)
		return diag_fail(diag, EPERM,
				 "process %d cannot be traced: Yama forbids it to everybody until "
				 "the machine is rebooted (kernel.yama.ptrace_scope=3)",
				 (int)pid);
	if (yama)
		return diag_fail(diag, EPERM,
				 "process %d cannot be traced: Yama permits it %s "
				 "(kernel.yama.ptrace_scope=%ld); run as root, or set it to 0",
				 (int)pid,
				 yama == 1 ? "to a program's parents only" : "to root only", yama);
	return diag_fail(diag, EPERM,
			 "process %d cannot be traced: it is another user's, or protects itself "
			 "(prctl PR_SET_DUMPABLE); run as root",
			 (int)pid);
}

int attach_refuse_thread(const struct tracee *e, const struct target_maps *maps, struct diag *diag)
{
	struct user_regs_struct regs;
	const struct target_mapping *m;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return 0; /* ended meanwhile */
	if (regs.cs != CODE_64)
		return diag_fail(diag, ENOEXEC,
				 "process %d is not a 64-bit program: only those can be counted",
				 (int)e->tgid);
	m = target_maps_find(maps, regs.gs_base);
	if ((regs.gs_base || regs.gs) &&
	    !(m && m->in_memory && !strcmp(m->name, IMPLANT_MAPS_NAME(IMPLANT_TABLES_NAME))))
		return diag_fail(
			diag, EBUSY,
			"process %d uses %%gs itself (as qemu-user does), where the counters' "
			"address has to be: it cannot be counted",
			(int)e->tgid);
	return 0;
}

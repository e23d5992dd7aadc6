/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a process that plans may still ask of the kernel: to read files, memory that is its own, and
 * to start image workers, which it executes and kills, and which take more away from themselves
 * (image/worker/worker_jail.c). It makes and changes no file, reaches no network and no other
 * process's memory, and gets into no other namespace. What is not listed fails; libraries try this
 * and that.
 */
#include "counting/planner_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/socket.h>

/* Whatever their arguments: files, memory, time. */
static const int reading[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(lseek),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(getcwd),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(mmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(clock_nanosleep),
};

/* ... its own process, and the workers; what a program does when it begins. */
static const int living[] = {
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(setitimer),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(prctl),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(setpgid),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(vfork),
	SCMP_SYS(execve),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(clock_getres),
};

#define NAMESPACES                                                                            \
	((uint64_t)CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWCGROUP)
#define WRITING ((uint64_t)O_ACCMODE | O_CREAT | O_TRUNC)

static int allow(scmp_filter_ctx f, const int *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count; i++)
		r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return r;
}

static int fill(scmp_filter_ctx f)
{
	int r = allow(f, reading, sizeof(reading) / sizeof(*reading)) |
		allow(f, living, sizeof(living) / sizeof(*living));

	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
			      SCMP_A1(SCMP_CMP_MASKED_EQ, WRITING, O_RDONLY));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			      SCMP_A2(SCMP_CMP_MASKED_EQ, WRITING, O_RDONLY));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
			      SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
			      SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
	/* Its flags are in memory: the C library then takes the one above. */
	r |= seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1, SCMP_A1(SCMP_CMP_EQ, SIGKILL));
	/* Its own limits. */
	return r |
	       seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_EQ, 0));
}

int planner_jail_enter(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = f ? fill(f) : -ENOMEM;

	r = r ?: seccomp_load(f);
	seccomp_release(f);
	return r;
}

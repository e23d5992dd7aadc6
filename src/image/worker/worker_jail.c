/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How the worker's child gives everything up, in an order in which each step still may be done.
 * What it has after that: its socket, the files that come through it, memory up to a limit, and the
 * system calls below. It is alone with the file that it reads: it cannot name another file, another
 * process or an address on a network, and cannot make code.
 *
 * There is no RLIMIT_CPU, which would count all requests together: the parent limits the time of
 * each, and a timer of the child's own does if the parent is gone.
 */
#include "image/worker/worker_jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <signal.h>
#include <unistd.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "util/sanitized.h"

#define NOBODY 65534
/*
 * Files are mapped read-only, and a debug file may be far larger than the memory that reading it
 * takes: address space is therefore limited apart from memory.
 */
#define MAPPED_BYTES_MAX (UINT64_C(64) << 30)
#define OPEN_FILES_MAX	 16

/* Allowed whatever their arguments. */
static const int calls_allowed[] = {
	SCMP_SYS(read),		SCMP_SYS(pread64),
	SCMP_SYS(lseek),	SCMP_SYS(fstat),
	SCMP_SYS(close),	SCMP_SYS(munmap),
	SCMP_SYS(mremap),	SCMP_SYS(brk),
	SCMP_SYS(madvise),	SCMP_SYS(futex),
	SCMP_SYS(exit),		SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(setitimer),	SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),	SCMP_SYS(sysinfo),
	SCMP_SYS(sigaltstack),
};

/*
 * Refused with an error: what the libraries try by themselves and can do without, such as opening
 * the supplementary file that a debug file names. Any other call kills.
 */
static const int calls_refused[] = {
	SCMP_SYS(open),	      SCMP_SYS(openat),	    SCMP_SYS(stat),
	SCMP_SYS(lstat),      SCMP_SYS(statx),	    SCMP_SYS(access),
	SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(getcwd),	    SCMP_SYS(write),
	SCMP_SYS(writev),     SCMP_SYS(ioctl),	    SCMP_SYS(prlimit64),
	SCMP_SYS(getrlimit),  SCMP_SYS(prctl),	    SCMP_SYS(sched_getaffinity),
};

static int filter_fill(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp to_parent = SCMP_A0(SCMP_CMP_EQ, WORKER_SOCKET);
	int r = 0;

	for (size_t i = 0; i < sizeof(calls_allowed) / sizeof(*calls_allowed); i++)
		r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, calls_allowed[i], 0);
	for (size_t i = 0; i < sizeof(calls_refused) / sizeof(*calls_refused); i++)
		r |= seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), calls_refused[i], 0);
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1, to_parent);
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1, to_parent);
	/* Memory that is private and never code. */
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
			      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
			      SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFD));
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	/* The C library's fstat(). With a path it would tell what a path leads to, no more. */
	r |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
			      SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
	r |= seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 1,
			      SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	return r;
}

static int jail_filter_calls(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = f ? filter_fill(f) : -1;

	if (!r)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}

static int limit(int resource, uint64_t value)
{
	struct rlimit now, l = {.rlim_cur = value, .rlim_max = value};

	if (getrlimit(resource, &now))
		return -1;
	if (now.rlim_max < l.rlim_max) /* raising it may need a privilege */
		l.rlim_cur = l.rlim_max = now.rlim_max;
	return setrlimit(resource, &l);
}

static int jail_limit(uint64_t memory_bytes)
{
	int r = limit(RLIMIT_NOFILE, OPEN_FILES_MAX) | limit(RLIMIT_FSIZE, 0) |
		limit(RLIMIT_CORE, 0) | limit(RLIMIT_MEMLOCK, 0) | limit(RLIMIT_MSGQUEUE, 0);

	if (SANITIZED || r)
		return r;
	uint64_t mapped = memory_bytes + MAPPED_BYTES_MAX;
	return limit(RLIMIT_DATA, memory_bytes) |
	       limit(RLIMIT_AS, mapped < memory_bytes ? RLIM_INFINITY : mapped);
}

/*
 * To nobody, when this process may: root of a user namespace that has no nobody, or without
 * CAP_SETUID, stays what it is, without any capability.
 */
static int jail_change_user(void)
{
	if (geteuid() != 0)
		return 0;
	int r = setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		setresuid(NOBODY, NOBODY, NOBODY);
	return r && errno != EPERM && errno != EINVAL;
}

static int jail_drop_capabilities(void)
{
	cap_t none = cap_init();
	int r = !none || cap_set_proc(none);

	cap_free(none);
	return r;
}

/* What a later exec could give back; there is none, so it may fail where it is not permitted. */
static void jail_drop_bounds(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long c = 0; !prctl(PR_CAPBSET_DROP, c, 0, 0, 0); c++)
		;
}

int worker_jail_enter(uint64_t memory_bytes)
{
	if (close_range(WORKER_SOCKET + 1, ~0u, 0))
		return 1;
	jail_drop_bounds();
	if (jail_change_user())
		return 2;
	if (jail_drop_capabilities())
		return 3;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 4;
	/* After the change of user, which would clear it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return 5;
	if (jail_limit(memory_bytes))
		return 6;
	return jail_filter_calls() ? 7 : 0;
}

bool worker_jail_send(const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		struct iovec iov = {(char *)data + done, size - done};
		struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
		/* sendmsg: the one call to send that the filter lets pass. */
		ssize_t n = sendmsg(WORKER_SOCKET, &message, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/host/host.h"

#define NOBODY 65534

/* Names from outside libcap's header, which older systems lack. */
enum { NUMBER_PERFMON = 38, NUMBER_BPF = 39, NUMBER_CHECKPOINT_RESTORE = 40 };

const struct rights_capability rights_least[RIGHTS_LEAST] = {
	{NUMBER_BPF, "cap_bpf", "load the in-kernel program", true},
	{NUMBER_PERFMON, "cap_perfmon", "sample all processes", true},
	{CAP_SYS_PTRACE, "cap_sys_ptrace", "read other users' mappings", true},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search", "read programs without read permission",
	 false},
	{CAP_SYSLOG, "cap_syslog", "see addresses in kallsyms", true},
	{NUMBER_CHECKPOINT_RESTORE, "cap_checkpoint_restore", "read programs that are deleted",
	 false},
};

bool rights_want_admin(const char *root)
{
	long long paranoid;

	return !host_read_number(root, "/proc/sys/kernel/perf_event_paranoid", &paranoid) &&
	       paranoid > 2;
}

static bool holds(cap_t set, cap_flag_t flag, cap_value_t number)
{
	cap_flag_value_t v = CAP_CLEAR;

	/* A libcap that does not know the number fails: then nobody has it. */
	return !cap_get_flag(set, number, flag, &v) && v == CAP_SET;
}

/* Copies one capability's flag; what is not held stays not held. */
static int keep(cap_t next, cap_t now, cap_flag_t flag, cap_value_t number)
{
	if (!holds(now, flag, number))
		return 0;
	return cap_set_flag(next, flag, 1, &number, CAP_SET) ? -errno : 0;
}

/* Gives up all but what next has, unless r says that it is not what it should be. */
static int become(cap_t next, cap_t now, int r)
{
	if (!r && cap_set_proc(next))
		r = -errno;
	cap_free(now);
	cap_free(next);
	return r;
}

static int keep_only(bool admin)
{
	cap_t now = cap_get_proc(), next = cap_init();
	int r = now && next ? 0 : -ENOMEM;

	for (int i = 0; !r && i < RIGHTS_LEAST; i++) {
		r = keep(next, now, CAP_PERMITTED, rights_least[i].number);
		if (!r)
			r = keep(next, now, CAP_EFFECTIVE, rights_least[i].number);
	}
	if (!r && admin)
		r = keep(next, now, CAP_PERMITTED, CAP_SYS_ADMIN);
	return become(next, now, r);
}

/* What an exec could give back; refused without CAP_SETPCAP, and NoNewPrivileges lets none. */
static void drop_bounds(void)
{
	for (unsigned long c = 0; !prctl(PR_CAPBSET_DROP, c, 0, 0, 0); c++)
		;
}

int rights_limit(const char *root, enum rights_stage stage, struct diag *diag)
{
	if (geteuid() == 0)
		return 0;
	drop_bounds();
	/* A set without inheritable ones takes the ambient ones along. */
	int r = keep_only(stage == RIGHTS_TO_OPEN && rights_want_admin(root));
	return r ? diag_fail(diag, -r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}

/* The capabilities of a file that no file is opened by: in use at once, whatever setcap said. */
static int keep_of_file(bool samples)
{
	static const cap_value_t in_use[] = {NUMBER_BPF, NUMBER_PERFMON, CAP_SYSLOG};
	static const cap_value_t at_hand[] = {CAP_SYS_PTRACE, CAP_SYS_ADMIN};
	cap_t now = cap_get_proc(), next = cap_init();
	int r = now && next ? 0 : -ENOMEM;

	for (size_t i = 0; !r && samples && i < sizeof(in_use) / sizeof(*in_use); i++) {
		r = keep(next, now, CAP_PERMITTED, in_use[i]);
		if (!r && holds(now, CAP_PERMITTED, in_use[i]))
			r = cap_set_flag(next, CAP_EFFECTIVE, 1, &in_use[i], CAP_SET) ? -errno : 0;
	}
	for (size_t i = 0; !r && samples && i < sizeof(at_hand) / sizeof(*at_hand); i++)
		r = keep(next, now, CAP_PERMITTED, at_hand[i]);
	return become(next, now, r);
}

/* Whether the file that was executed gives its caller rights that he does not have. */
static bool file_gives_rights(void)
{
	return getauxval(AT_SECURE) != 0;
}

int rights_begin(bool samples, struct diag *diag)
{
	uid_t user = getuid();
	gid_t group = getgid();
	int r = 0;

	if (!file_gives_rights())
		return 0;
	/* The group first: to give up the user takes the right to. */
	if ((getegid() != group && setresgid(group, group, group)) ||
	    (geteuid() != user && setresuid(user, user, user)))
		return diag_fail(diag, errno, "cannot give up the rights of the program's file: %s",
				 strerror(errno));
	if (user == 0)
		return 0;
	drop_bounds();
	r = keep_of_file(samples);
	if (samples)
		unsetenv("DEBUGINFOD_URLS");
	return r ? diag_fail(diag, -r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}

/* A user namespace need not have a nobody, nor let its root become another. */
static int become_nobody(void)
{
	if (geteuid() || (!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
			  !setresuid(NOBODY, NOBODY, NOBODY)))
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

int rights_keep_reading(struct diag *diag)
{
	static const cap_value_t reading = CAP_DAC_READ_SEARCH;
	cap_t now, next;
	int r;

	drop_bounds();
	r = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ? -errno : become_nobody();
	now = cap_get_proc();
	next = cap_init();
	r = r ?: now && next ? 0 : -ENOMEM;
	r = r ?: keep(next, now, CAP_PERMITTED, reading);
	if (!r && holds(now, CAP_PERMITTED, reading))
		r = cap_set_flag(next, CAP_EFFECTIVE, 1, &reading, CAP_SET) ? -errno : 0;
	r = become(next, now, r);
	r = r ?: prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
	return r ? diag_fail(diag, -r, "cannot give up rights: %s", strerror(-r)) : 0;
}

int rights_settle(struct diag *diag)
{
	return file_gives_rights() ? rights_limit("", RIGHTS_TO_RUN, diag) : 0;
}

/* One that is permitted only. -EPERM: it is not held, or in use already. */
static int use(cap_value_t number, bool use)
{
	cap_t set = cap_get_proc();
	int r = set ? 0 : -ENOMEM;

	if (!r && (!holds(set, CAP_PERMITTED, number) || holds(set, CAP_EFFECTIVE, number) == use))
		r = -EPERM;
	if (!r && (cap_set_flag(set, CAP_EFFECTIVE, 1, &number, use ? CAP_SET : CAP_CLEAR) ||
		   cap_set_proc(set)))
		r = -errno;
	cap_free(set);
	return r;
}

static bool is_refused(int fd)
{
	return fd == -EACCES || fd == -EPERM;
}

/* After what was done with one that is in use: its descriptor, unless it stays in use. */
static int end_use(cap_value_t number, int fd)
{
	int r = use(number, false);

	if (r && fd >= 0)
		close(fd);
	return r ?: fd;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int rights_open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = open_event(attr, pid, cpu, group_fd);

	if (!is_refused(fd) || use(CAP_SYS_ADMIN, true))
		return fd;
	return end_use(CAP_SYS_ADMIN, open_event(attr, pid, cpu, group_fd));
}

static int open_maps(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int rights_open_maps(pid_t pid)
{
	int fd = open_maps(pid);

	if (!is_refused(fd) || use(CAP_SYS_PTRACE, true))
		return fd;
	return end_use(CAP_SYS_PTRACE, open_maps(pid));
}

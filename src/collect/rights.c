/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/rights.h"

#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/host.h"

/* Names from outside libcap's header, which older systems lack. */
enum { NUMBER_PERFMON = 38, NUMBER_BPF = 39, NUMBER_CHECKPOINT_RESTORE = 40 };

const struct rights_capability rights_least[RIGHTS_LEAST] = {
	{NUMBER_BPF, "cap_bpf", "load the in-kernel program"},
	{NUMBER_PERFMON, "cap_perfmon", "sample all processes"},
	{CAP_SYS_PTRACE, "cap_sys_ptrace", "read other users' mappings and files"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search", "read programs that only others may"},
	{CAP_SYSLOG, "cap_syslog", "see addresses in kallsyms"},
	{NUMBER_CHECKPOINT_RESTORE, "cap_checkpoint_restore", "read programs that are deleted"},
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
	if (!r && cap_set_proc(next))
		r = -errno;
	cap_free(now);
	cap_free(next);
	return r;
}

int rights_limit(const char *root, enum rights_stage stage, struct diag *diag)
{
	int r;

	if (geteuid() == 0)
		return 0;
	/* What an exec could give back; without CAP_SETPCAP it is refused, and the unit's
	 * NoNewPrivileges lets none. */
	for (unsigned long c = 0; !prctl(PR_CAPBSET_DROP, c, 0, 0, 0); c++)
		;
	/* A set without inheritable ones takes the ambient ones along. */
	r = keep_only(stage == RIGHTS_TO_OPEN && rights_want_admin(root));
	return r ? diag_fail(diag, -r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}

/* -EPERM: it is not held, or in use already. */
static int use_admin(bool use)
{
	const cap_value_t admin = CAP_SYS_ADMIN;
	cap_t set = cap_get_proc();
	int r = set ? 0 : -ENOMEM;

	if (!r && (!holds(set, CAP_PERMITTED, admin) || holds(set, CAP_EFFECTIVE, admin) == use))
		r = -EPERM;
	if (!r && (cap_set_flag(set, CAP_EFFECTIVE, 1, &admin, use ? CAP_SET : CAP_CLEAR) ||
		   cap_set_proc(set)))
		r = -errno;
	cap_free(set);
	return r;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int rights_open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = open_event(attr, pid, cpu, group_fd), r;

	if ((fd != -EACCES && fd != -EPERM) || use_admin(true))
		return fd;
	fd = open_event(attr, pid, cpu, group_fd);
	r = use_admin(false);
	if (r && fd >= 0)
		close(fd);
	return r ?: fd;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <unistd.h>
#include "collect/check/check.h"
#include "collect/host/host.h"
#include "collect/host/rights.h"

static bool has_capability(cap_t set, int number, cap_flag_t flag)
{
	cap_flag_value_t v = CAP_CLEAR;

	return set && !cap_get_flag(set, (cap_value_t)number, flag, &v) && v == CAP_SET;
}

/* CAP_SYS_PTRACE is used for single calls only where the program's file gave it. Before 5.8
 * CAP_SYS_ADMIN was for everything, and it still includes what was split off: the numbers after
 * CAP_AUDIT_READ's. */
static bool is_missing(cap_t set, const struct rights_capability *c, bool admin)
{
	return !has_capability(set, c->number, CAP_PERMITTED) &&
	       !(admin && c->number > CAP_AUDIT_READ);
}

/* What their absence means is tried in check_sampling, so here they are partial at worst. What a
 * file should not give is not advised: it would be given up at once. */
static void check_capabilities(struct check_list *l, cap_t set, bool admin)
{
	char all[160] = "", uses[256] = "", program[128];
	size_t at = 0, used = 0;
	bool by_file = false;
	struct check *c;

	for (size_t i = 0; i < RIGHTS_LEAST; i++) {
		const struct rights_capability *r = &rights_least[i];

		/* Those that it has too: setcap takes away what it is not told. */
		if (r->by_file)
			at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", at ? "," : "",
					       r->name);
		if (!is_missing(set, r, admin))
			continue;
		by_file |= r->by_file;
		used += (size_t)snprintf(uses + used, sizeof(uses) - used, "%s%s", used ? ", " : "",
					 r->use);
	}
	if (!uses[0]) {
		check_add(l, "capabilities", CHECK_GOOD, "all that are needed");
		return;
	}
	c = check_add(l, "capabilities", CHECK_PARTIAL, "not allowed to: %s", uses);
	if (by_file)
		check_mend(c, "run with sudo, or for everyone who may run it: sudo setcap %s+ep %s",
			   all, host_program_path(program, sizeof(program)));
	else
		check_mend(c, "run with sudo, or as a service: sudo systemctl start culprit");
}

/* Mainline has no such level. It is no fault of a machine that strangers may not sample on it. */
static void check_strict(struct check_list *l, const char *name, long long level, bool admin)
{
	static const char text[] =
		"%lld: only root (CAP_SYS_ADMIN) may open events, CAP_PERFMON is not enough";
	struct check *c = check_add(l, name, admin ? CHECK_FACT : CHECK_PARTIAL, text, level);

	if (!admin)
		check_mend(c,
			   "run with sudo, or as a service: sudo systemctl start culprit; or, for "
			   "everyone on this machine: sudo sysctl kernel.perf_event_paranoid=2");
}

/* What these are worth depends on the capabilities; whoever reads the report wants to see them. */
static void check_sysctls(struct check_list *l, bool admin)
{
	static const char *const names[] = {
		"perf_event_paranoid",	      "kptr_restrict",
		"unprivileged_bpf_disabled",  "perf_event_mlock_kb",
		"perf_event_max_sample_rate", "perf_cpu_time_max_percent",
	};
	char path[80];
	long long v;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/kernel/%s", names[i]);
		if (host_read_number(l->root, path, &v))
			continue;
		if (i == 0 && rights_want_admin(l->root))
			check_strict(l, names[i], v, admin);
		else
			check_add(l, names[i], CHECK_FACT, "%lld", v);
	}
}

static void check_lockdown(struct check_list *l)
{
	char text[128], *mode, *end;
	struct check *c;

	if (host_read_text(l->root, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0) {
		check_add(l, "lockdown", CHECK_GOOD, "none");
		return;
	}
	mode = strchr(text, '[');
	end = mode ? strchr(mode, ']') : NULL;
	if (!end) {
		check_add(l, "lockdown", CHECK_FACT, "%s", text);
		return;
	}
	*end = 0;
	mode++;
	/* Integrity forbids writing to the kernel only; confidentiality also reading from it. */
	if (strcmp(mode, "confidentiality")) {
		check_add(l, "lockdown", CHECK_GOOD, "%s", mode);
		return;
	}
	c = check_add(l, "lockdown", CHECK_PARTIAL,
		      "confidentiality: BPF programs and perf may not read kernel memory");
	check_mend(c, "boot with lockdown=integrity on the kernel's command line");
}

static void format_limit(rlim_t v, char *out, size_t room)
{
	if (v == RLIM_INFINITY)
		snprintf(out, room, "unlimited");
	else
		snprintf(out, room, "%llu", (unsigned long long)v);
}

static void check_limits(struct check_list *l)
{
	struct rlimit r;
	char text[32];
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct check *c;

	if (!getrlimit(RLIMIT_MEMLOCK, &r)) {
		format_limit(r.rlim_cur, text, sizeof(text));
		/* Since 5.11 BPF memory is charged to the cgroup instead. */
		check_add(l, "memlock_bytes", CHECK_FACT, "%s", text);
	}
	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	format_limit(r.rlim_cur, text, sizeof(text));
	/* An event and its link on each CPU, the maps, and the files of the images at work. */
	if (r.rlim_cur >= (rlim_t)cpus * 4 + 128) {
		check_add(l, "open_files", CHECK_GOOD, "%s", text);
		return;
	}
	c = check_add(l, "open_files", CHECK_PARTIAL, "%s: too few for %ld CPUs", text, cpus);
	check_mend(c, "ulimit -n %ld", cpus * 64 + 1024);
}

void check_privilege(struct check_list *l)
{
	cap_t set = cap_get_proc();
	bool admin = has_capability(set, CAP_SYS_ADMIN, CAP_PERMITTED);

	l->group = "privilege";
	check_capabilities(l, set, admin);
	check_sysctls(l, admin);
	cap_free(set);
	check_lockdown(l);
	check_limits(l);
}

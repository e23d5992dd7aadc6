/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Opening a sampling event, and saying in one sentence why the kernel refused. Its errno alone does
 * not tell: the same -ENOENT means "no such PMU" and "this PMU has no such event", and without
 * privileges -EACCES comes first whatever else is wrong. So after a refusal the same event is tried
 * in weaker forms until one is taken; the difference is the reason.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "collect/events/event.h"
#include "collect/host/host.h"
#include "collect/host/rights.h"

/* Long enough to cost nothing while an event is tried or waits for its real period. */
#define SAFE_PERIOD_NS	   1000000
#define SAFE_PERIOD_EVENTS 1000003

static int open_attr(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	struct perf_event_attr a = *attr;

	return rights_open_event(&a, pid, cpu, group_fd);
}

static int try_attr(const struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = open_attr(attr, pid, cpu, -1);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static bool is_not_here(int r)
{
	return r == ENOENT || r == EOPNOTSUPP || r == ENODEV || r == ENXIO || r == EINVAL;
}

/* What is left to use when this event does not work. */
static const char *alternative(const struct event *e)
{
	if (event_is_clock(e))
		return "nothing else samples time here";
	return "'cpu-clock' samples time instead and works everywhere";
}

static int explain_hardware(const struct event *e, struct diag *diag)
{
	bool is_core = e->attr.type == PERF_TYPE_HARDWARE || e->attr.type == PERF_TYPE_HW_CACHE ||
		       e->attr.type == PERF_TYPE_RAW;

	if (is_core && !host_has_core_pmu(""))
		return diag_fail(
			diag, EOPNOTSUPP,
			"this machine cannot count '%s': it has no hardware counters%s; %s",
			e->name,
			host_is_virtual("") ? " (it is a virtual machine without a vPMU, which its "
					      "host can turn on)"
					    : "",
			alternative(e));
	return diag_fail(diag, EOPNOTSUPP, "this machine's counters do not have '%s'; %s", e->name,
			 alternative(e));
}

/* The event is known and not forbidden, and this machine still refuses it. */
static int explain_not_here(const struct event *e, const struct perf_event_attr *attr, int pid,
			    int cpu, int r, struct diag *diag)
{
	struct perf_event_attr a = *attr;

	a.precise_ip = 0;
	if (attr->precise_ip && !try_attr(&a, pid, cpu))
		return diag_fail(diag, EOPNOTSUPP,
				 "this machine cannot sample '%s' precisely%s (it has no PEBS or "
				 "IBS, or not for this event); use it with fewer p",
				 e->name, attr->precise_ip > 1 ? " enough" : "");
	a.sample_period = 0;
	if (!try_attr(&a, pid, cpu))
		return diag_fail(diag, EOPNOTSUPP,
				 "'%s' can be counted here but not sampled, because its PMU raises "
				 "no interrupts; %s",
				 e->name, alternative(e));
	a.exclude_user = a.exclude_kernel = a.exclude_hv = a.exclude_guest = 0;
	if (!try_attr(&a, pid, cpu))
		return diag_fail(diag, EOPNOTSUPP,
				 "the PMU of '%s' counts without telling user from kernel and "
				 "raises no interrupts; %s",
				 e->name, alternative(e));
	if (r == EINVAL)
		return diag_fail(
			diag, EOPNOTSUPP,
			"this kernel refuses the encoding of '%s' (type %u, config %#llx); "
			"%s",
			e->name, attr->type, (unsigned long long)attr->config, alternative(e));
	return explain_hardware(e, diag);
}

static int explain_denied(const struct event *e, const struct perf_event_attr *attr,
			  struct diag *diag)
{
	struct perf_event_attr own = *attr;
	long long paranoid = -2;
	char program[256];

	/* On this thread alone and in user mode nearly everybody may count, so a refusal of that
	 * tells what this machine has. */
	own.exclude_kernel = own.exclude_hv = 1;
	own.exclude_user = 0;
	int r = event_is_tracepoint(e) ? 0 : try_attr(&own, 0, -1);
	/* -EINVAL may only mean that this PMU cannot leave the kernel out. */
	if (r != -EINVAL && is_not_here(-r))
		return explain_not_here(e, &own, 0, -1, -r, diag);
	host_read_number("", "/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (rights_want_admin("")) /* a level that distributions add: CAP_PERFMON is not heeded */
		return diag_fail(
			diag, EACCES,
			"not allowed to sample '%s': kernel.perf_event_paranoid is %lld, at "
			"which this kernel wants CAP_SYS_ADMIN until the events are open: run as "
			"root or as the service culprit; or, for everyone on this machine: sudo "
			"sysctl kernel.perf_event_paranoid=2, which leaves it to CAP_PERFMON",
			e->name, paranoid);
	return diag_fail(diag, EACCES,
			 "not allowed to sample '%s' on the whole machine "
			 "(kernel.perf_event_paranoid is %lld): run as root, or give the program "
			 "CAP_PERFMON: sudo setcap cap_perfmon,cap_bpf+ep %s",
			 e->name, paranoid, host_program_path(program, sizeof(program)));
}

static int explain(const struct event *e, const struct perf_event_attr *attr, int cpu, int r,
		   struct diag *diag)
{
	if (r == EACCES || r == EPERM)
		return explain_denied(e, attr, diag);
	if (is_not_here(r))
		return explain_not_here(e, attr, -1, cpu, r, diag);
	if (r == EBUSY)
		return diag_fail(diag, EBUSY,
				 "'%s' on CPU %d is taken by another profiler or the NMI watchdog "
				 "(sudo sysctl kernel.nmi_watchdog=0 frees a counter)",
				 e->name, cpu);
	if (r == EMFILE || r == ENFILE)
		return diag_fail(diag, r,
				 "no file descriptor is left to open '%s' on CPU %d; raise the "
				 "limit: ulimit -n 65536",
				 e->name, cpu);
	if (r == ENOSYS)
		return diag_fail(
			diag, EOPNOTSUPP,
			"this kernel has no perf events (CONFIG_PERF_EVENTS), or a seccomp "
			"filter hides them");
	return diag_fail(diag, r, "cannot open event '%s' on CPU %d: %s", e->name, cpu,
			 strerror(r));
}

int event_open(const struct event *e, int cpu, uint64_t period, int group_fd, struct diag *diag)
{
	struct perf_event_attr attr = e->attr;
	int fd;

	if (!event_runs_on(e, cpu))
		return diag_fail(diag, ENODEV, "CPU %d does not have event '%s'", cpu, e->name);
	if (!period)
		period = e->period;
	if (!period)
		period = event_is_clock(e) ? SAFE_PERIOD_NS : SAFE_PERIOD_EVENTS;
	attr.size = sizeof(attr);
	attr.sample_period = e->tick ? 0 : period;
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_attr(&attr, -1, cpu, group_fd);
	if (fd == -EINVAL && attr.exclude_guest) {
		/* Some PMUs cannot leave guests out; then they are in, as unknown samples. */
		attr.exclude_guest = 0;
		fd = open_attr(&attr, -1, cpu, group_fd);
	}
	if (fd >= 0)
		return fd;
	if (!host_cpu_is_online("", cpu))
		return diag_fail(diag, ENODEV, "CPU %d is offline", cpu);
	return explain(e, &attr, cpu, -fd, diag);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Does what sampling does, in small: opens the events, loads a program of two instructions,
 * attaches it with a cookie to an event that is never started, makes the kinds of map that are
 * used.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "collect/cost/budget.h"
#include "collect/check/check.h"
#include "collect/edges/edges.h"
#include "collect/events/event.h"
#include "collect/events/tick.h"
#include "collect/cost/governor.h"
#include "collect/cost/tick_choice.h"
#include "collect/host/host.h"
#include "collect/host/rights.h"
#include "collect/stacks/stacks.h"

static void mend_by_rights(struct check *c)
{
	char program[180];

	check_mend(c,
		   "run with sudo, or for everyone who may run it: %ssudo setcap "
		   "cap_perfmon,cap_bpf+ep %s",
		   rights_want_admin("") ? "sudo sysctl kernel.perf_event_paranoid=2; " : "",
		   host_program_path(program, sizeof(program)));
}

/* Diagnoses are made to stand alone; here the row's name has said what they begin with. */
static struct check *add_failure(struct check_list *l, const char *name, enum check_state state,
				 int r, const struct diag *diag)
{
	struct check *c = check_add(l, name, state, "%s", diag->text);

	if (r == -EACCES || r == -EPERM) {
		snprintf(c->value, sizeof(c->value), "not allowed");
		mend_by_rights(c);
	}
	return c;
}

static void check_cycles(struct check_list *l)
{
	static const char *const names[] = {"cycles:ppp", "cycles:pp", "cycles:p", "cycles"};
	struct diag diag = {{0}};
	struct event e;
	struct check *c;
	int r = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		r = event_parse(names[i], &e, &diag);
		if (r)
			continue;
		check_add(l, "cycles", e.attr.precise_ip ? CHECK_GOOD : CHECK_PARTIAL, "%s%s",
			  e.name,
			  e.attr.precise_ip ? "" : ": not precise, samples land after the culprit");
		event_free(&e);
		return;
	}
	if (host_has_core_pmu("") || r == -EACCES) {
		add_failure(l, "cycles", CHECK_PARTIAL, r, &diag);
		return;
	}
	c = check_add(l, "cycles", CHECK_PARTIAL,
		      "no hardware counters: cpu-clock samples time instead");
	if (host_is_virtual(""))
		check_mend(c, "on the host, give this virtual machine a vPMU (QEMU: -cpu "
			      "host,pmu=on)");
}

/* Returns a descriptor of an idle cpu-clock event, or a negative errno. */
static int check_cpu_clock(struct check_list *l)
{
	struct diag diag = {{0}};
	struct event e;
	int r = event_parse("cpu-clock", &e, &diag), fd;

	if (r) {
		add_failure(l, "cpu_clock", CHECK_BAD, r, &diag);
		return r;
	}
	fd = event_open(&e, host_first_cpu("", NULL), 0, -1, &diag);
	event_free(&e);
	if (fd < 0) {
		add_failure(l, "cpu_clock", CHECK_BAD, fd, &diag);
		return fd;
	}
	check_add(l, "cpu_clock", CHECK_GOOD, "all processes, user and kernel");
	return fd;
}

/* Without ticks samples of time cost interrupts of their own. */
static void check_tick(struct check_list *l)
{
	struct diag diag = {{0}};

	if (tick_offered(&diag))
		check_add(l, "tick", CHECK_PARTIAL, "%s; timers are used", diag.text);
	else
		check_add(l, "tick", CHECK_GOOD, "%.4g a second of each busy CPU",
			  1e9 / (double)tick_period_ns());
}

/* Kernels before 5.11 charge BPF memory to this limit. */
static void raise_memlock(void)
{
	struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &r);
}

static int load_nothing(void)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "culprit_try", "Dual BSD/GPL", nothing,
			     sizeof(nothing) / sizeof(nothing[0]), NULL);
}

static struct check *add_bpf_failure(struct check_list *l, const char *name, int r)
{
	struct check *c;

	if (r == -EPERM || r == -EACCES) {
		c = check_add(l, name, CHECK_BAD, "not allowed");
		mend_by_rights(c);
	} else if (r == -ENOSYS) {
		c = check_add(l, name, CHECK_BAD, "this kernel has no BPF");
		check_mend(c, "use a kernel built with CONFIG_BPF_SYSCALL=y");
	} else {
		c = check_add(l, name, CHECK_BAD, "%s", strerror(-r));
		if (r == -ENOMEM)
			check_mend(c, "ulimit -l unlimited");
	}
	return c;
}

static void check_maps(struct check_list *l)
{
	LIBBPF_OPTS(bpf_map_create_opts, mmapable, .map_flags = BPF_F_MMAPABLE);
	int table = bpf_map_create(BPF_MAP_TYPE_ARRAY, "culprit_try", 4, 4096, 1, &mmapable);
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "culprit_try", 0, 0, 65536, NULL);
	void *m = MAP_FAILED;

	if (table >= 0)
		m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
	if (table < 0 || m == MAP_FAILED)
		add_bpf_failure(l, "bpf_mmap", table < 0 ? table : -errno);
	else
		check_add(l, "bpf_mmap", CHECK_GOOD, "tables are read without copying");
	if (m != MAP_FAILED)
		munmap(m, 4096);
	if (table >= 0)
		close(table);
	if (ring < 0) {
		add_bpf_failure(l, "bpf_ring", ring);
		return;
	}
	check_add(l, "bpf_ring", CHECK_GOOD, "works");
	close(ring);
}

/* The program on an event, told which one by its cookie. */
static void check_attach(struct check_list *l, int program, int perf_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = 1);
	int link = bpf_link_create(program, perf_fd, BPF_PERF_EVENT, &opts);
	struct check *c;

	if (link >= 0) {
		check_add(l, "bpf_attach", CHECK_GOOD, "works, with a cookie");
		close(link);
	} else if (link == -EINVAL) {
		c = check_add(l, "bpf_attach", CHECK_BAD, "this kernel has no perf event cookies");
		check_mend(c, "install a kernel of version 5.15 or later");
	} else {
		add_bpf_failure(l, "bpf_attach", link);
	}
}

void check_sampling(struct check_list *l)
{
	int perf_fd, program;

	l->group = "sampling";
	check_cycles(l);
	perf_fd = check_cpu_clock(l);
	check_tick(l);
	raise_memlock();
	program = load_nothing();
	if (program < 0) {
		add_bpf_failure(l, "bpf_load", program);
	} else {
		check_add(l, "bpf_load", CHECK_GOOD, "works");
		check_maps(l);
		if (perf_fd >= 0)
			check_attach(l, program, perf_fd);
		close(program);
	}
	if (perf_fd >= 0)
		close(perf_fd);
}

/* For the measurement: a handler that does nothing, so that what is measured is the machine's. */
struct handler {
	int program, link;
};

static int attach_handler(void *arg, int perf_fd)
{
	struct handler *h = arg;

	h->link = bpf_link_create(h->program, perf_fd, BPF_PERF_EVENT, NULL);
	return h->link < 0 ? h->link : 0;
}

static const char *describe_set(const struct governor_cost *cost, char ret[64])
{
	*ret = 0;
	if (cost->measured && cost->set_bytes)
		snprintf(ret, 64, " to a program that uses %zu kB over and over",
			 cost->set_bytes >> 10);
	return ret;
}

/* What the daemon takes with --ticks. */
static void check_choice(struct check_list *l, const struct event *e, double interrupt_ns)
{
	struct diag why;

	if (tick_choice_at(e, interrupt_ns, &why))
		check_add(l, "daemon_ticks", CHECK_FACT,
			  "with --ticks the scheduler's ticks, and at most %g random samples a "
			  "second beside "
			  "them, since an interrupt costs %g us or more",
			  TICK_CHOICE_RANDOM_HZ, TICK_CHOICE_DEAR_NS / 1e3);
	else
		check_add(l, "daemon_ticks", CHECK_FACT, "with --ticks %s all the same%s%s",
			  e->name, *why.text ? ": " : "", why.text);
}

void check_cost(struct check_list *l, double budget_percent)
{
	struct handler h = {.program = load_nothing(), .link = -1};
	struct governor_cost cost;
	struct governor_rate rate;
	struct diag diag = {{0}};
	struct event e = {0};
	const char *why;
	double interrupts;
	char set[64];

	l->group = "cost";
	int r = event_default(&e, &why, &diag);
	if (!r)
		r = governor_measure(&e, -1, h.program >= 0 ? attach_handler : NULL, &h, &cost,
				     &diag);
	if (r) {
		add_failure(l, "sample_cost", CHECK_PARTIAL, r, &diag);
	} else {
		interrupts = budget_percent *
			     (1 - BUDGET_REST_SHARE - EDGES_BUDGET_SHARE - STACKS_BUDGET_SHARE);
		rate = governor_choose_rate(governor_charge(&cost), interrupts, 1,
					    governor_kernel_max_hz(""));
		check_add(l, "sample_cost", cost.measured ? CHECK_FACT : CHECK_PARTIAL,
			  "%s: %.2f us +- %.2f each%s%s%s%s", e.name, cost.cost_ns / 1e3,
			  cost.error_ns / 1e3, describe_set(&cost, set),
			  cost.measured ? "" : " assumed, because ", cost.why,
			  cost.measured && cost.busy ? ", beside other work" : "");
		check_add(l, "sample_rate", CHECK_FACT,
			  "%.0f a second and CPU at a budget of %g%% (decided by the %s), of which "
			  "interrupts may take %.3g%%, stacks %.3g%%, windows of edges %.3g%%, the "
			  "collector and its workers %.3g%%",
			  rate.hz, budget_percent, rate.bound, interrupts,
			  budget_percent * STACKS_BUDGET_SHARE, budget_percent * EDGES_BUDGET_SHARE,
			  budget_percent * BUDGET_REST_SHARE);
		check_choice(l, &e, cost.cost_ns);
	}
	event_free(&e);
	if (h.link >= 0)
		close(h.link);
	if (h.program >= 0)
		close(h.program);
}

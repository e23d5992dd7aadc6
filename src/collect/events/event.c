/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "collect/events/event_generic.h"
#include "collect/events/event_name.h"
#include "collect/events/event_pfm.h"
#include "collect/events/event_pmu.h"
#include "collect/events/event_tracepoint.h"
#include "collect/events/tick.h"
#include "collect/host/host.h"

void event_free(struct event *e)
{
	if (!e)
		return;
	free(e->name);
	free(e->cpus);
	e->name = e->cpus = NULL;
}

bool event_is_clock(const struct event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_is_tracepoint(const struct event *e)
{
	return e->attr.type == PERF_TYPE_TRACEPOINT;
}

bool event_runs_on(const struct event *e, int cpu)
{
	return !e->cpus || host_list_has_cpu(e->cpus, cpu);
}

static int prove(const struct event *e, struct diag *diag)
{
	int cpu = host_first_cpu("", e->cpus), fd;

	if (e->tick && tick_check("", diag))
		return -EOPNOTSUPP;
	if (cpu < 0)
		return diag_fail(diag, EOPNOTSUPP,
				 "event '%s': none of the CPUs that have it (%s) is online",
				 e->name, e->cpus);
	fd = event_open(e, cpu, 0, -1, diag);
	/* An online CPU that lists the event and still has none cannot count it. */
	if (fd == -ENODEV)
		return -EOPNOTSUPP;
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int event_parse(const char *text, struct event *ret, struct diag *diag)
{
	struct event e;
	int r = event_name_parse("", text, &e, diag);

	if (r)
		return r;
	if (e.tick)
		e.period = tick_period_ns();
	r = prove(&e, diag);
	if (r)
		event_free(&e);
	else
		*ret = e;
	return r;
}

int event_default(struct event *ret, const char **ret_why, struct diag *diag)
{
	static const struct {
		const char *name, *why;
	} choices[] = {
		{"cycles:ppp", ""},
		{"cycles:pp", ""},
		{"cycles:p", ""},
		{"cycles", "this machine has no precise sampling (PEBS, IBS)"},
		{"cpu-clock", "this machine has no hardware counters that can be sampled"},
	};
	int r = -EOPNOTSUPP;

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		r = event_parse(choices[i].name, ret, diag);
		if (!r)
			*ret_why = choices[i].why;
		/* What is refused to one clock is refused to all. */
		if (!r || r == -EACCES)
			return r;
	}
	return r;
}

/* Adapts each table's callback to event_each_name's, and tries each name. */
struct listing {
	void (*f)(void *arg, const char *kind, const char *name, bool usable);
	void *arg;
	const char *kind;
	int tracepoints_work; /* -1 until one was tried: they all do or none does */
};

static bool is_usable(const char *name)
{
	struct event e;

	if (event_parse(name, &e, NULL))
		return false;
	event_free(&e);
	return true;
}

static void list_generic(void *arg, const char *kind, const char *name)
{
	struct listing *l = arg;

	l->f(l->arg, kind, name, is_usable(name));
}

static void list_named(void *arg, const char *full_name, const char *bare_name)
{
	struct listing *l = arg;

	(void)bare_name;
	l->f(l->arg, l->kind, full_name, is_usable(full_name));
}

static void list_tracepoint(void *arg, const char *name)
{
	struct listing *l = arg;

	if (l->tracepoints_work < 0)
		l->tracepoints_work = is_usable(name);
	l->f(l->arg, "tracepoint", name, l->tracepoints_work);
}

void event_each_name(void (*f)(void *arg, const char *kind, const char *name, bool usable),
		     void *arg)
{
	struct listing l = {.f = f, .arg = arg, .tracepoints_work = -1};

	event_generic_each(list_generic, &l);
	list_generic(&l, "software", "tick");
	l.kind = "pmu";
	event_pmu_each("", list_named, &l);
	l.kind = "libpfm4";
	event_pfm_each(list_named, &l);
	event_tracepoint_each("", list_tracepoint, &l);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a session costs, read where it is counted, and what the budget's rule says, applied. */
#include <string.h>
#include <time.h>

#include "collect/governor.h"
#include "collect/session_state.h"
#include "util/clock.h"
#include "util/log.h"

/* The kernel's work for a record: 240 ns for a mapping again and again (Linux 6.18, two runs of 200
 * turns with records and without), cold more. */
#define RECORD_NS 1000.0

static double process_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Clocks interrupt idle CPUs too, so they tell; of other events nobody knows: all. */
static double busy_ns(const struct session *s, const struct sampler_counters *c, double lasted_ns)
{
	double all = (double)(c->samples + c->outside), cpus = sampler_cpus(s->sampler);

	if (!event_is_clock(&s->config.events[0]) || all <= 0)
		return cpus * lasted_ns;
	return cpus * lasted_ns * (all - (double)c->idle) / all;
}

void session_look(const struct session *s, struct budget_look *ret)
{
	struct allowance_totals helpers;
	struct edges_status edges = {0};
	struct stacks_status stacks = {0};
	struct sampler_counters c;
	struct files_counters files;
	uint64_t now_ns = clock_monotonic_ns();

	files_read_counters(s->files, &files);
	sampler_read_counters(s->sampler, &c);
	allowance_read(s->helpers, &helpers);
	if (s->edges && s->running)
		edges_read_status(s->edges, &edges);
	if (s->stacks && s->running)
		stacks_read_status(s->stacks, &stacks);
	*ret = (struct budget_look){.now_ns = now_ns};
	ret->busy_ns = busy_ns(s, &c, (double)(now_ns - s->budget.first.now_ns));
	ret->spent_ns[BUDGET_INTERRUPTS] =
		s->rate.charge_ns * (double)(c.samples + c.outside - c.idle + c.redraws);
	ret->spent_ns[BUDGET_STACKS] = (double)stacks.spent_ns;
	ret->spent_ns[BUDGET_WINDOWS] = (double)edges.spent_ns;
	ret->spent_ns[BUDGET_PROGRAMS] = (double)c.program_ns;
	ret->spent_ns[BUDGET_RECORDS] = RECORD_NS * (double)s->records;
	ret->spent_ns[BUDGET_COLLECTOR] = process_cpu_ns() - (double)helpers.thread_ns +
					  (double)image_worker_cpu_ns(s->worker) +
					  (double)files.worker_ns;
	ret->spent_ns[BUDGET_HELPERS] = (double)helpers.thread_ns + (double)helpers.worker_ns;
}

/* What starting cost is no part of it: a stated figure of its own (doc/speed.md). */
void session_start_budget(struct session *s)
{
	const struct budget_config config = {
		.percent = s->config.budget_percent,
		.cpus = sampler_cpus(s->sampler),
		.fixed_rate = s->rate.cost_ns <= 0,
	};
	struct budget_look look;

	memcpy(s->planned, s->periods, sizeof(s->planned));
	s->planned_hz = s->rate.hz;
	s->budget.first.now_ns = clock_monotonic_ns();
	session_look(s, &look);
	budget_start(&s->budget, &config, &look);
}

/* Periods are planned ones but for what the user fixed. */
static void set_rate(struct session *s, double factor)
{
	if (s->planned_hz * factor < GOVERNOR_MIN_HZ)
		factor = s->planned_hz > GOVERNOR_MIN_HZ ? GOVERNOR_MIN_HZ / s->planned_hz : 1;
	s->rate.hz = s->planned_hz * factor;
	for (size_t i = 0; i < s->config.event_count; i++)
		if (!s->config.events[i].period)
			s->periods[i] = (uint64_t)((double)s->planned[i] / factor);
}

static void pace_followers(struct session *s, double factor)
{
	double hz = session_followed_hz(s), stacks = session_stacks_rate(s, hz).budget_percent;

	if (s->edges)
		edges_set_pace(s->edges, s->config.budget_percent * EDGES_BUDGET_SHARE * factor,
			       hz);
	if (s->stacks)
		stacks_set_pace(s->stacks, s->config.stack_hz > 0 ? stacks : stacks * factor, hz);
}

/* What was sampled before goes under the period that it had: drained and written first, while the
 * batch still has that. Where it cannot be written all stays as it was, until the next window. */
static int change_rate(struct session *s, unsigned before)
{
	double factor = budget_factor(s->budget.step);
	int r = session_drain_all(s, NULL);

	if (!r) {
		set_rate(s, factor);
		r = session_write_batch(s, &s->trouble);
	}
	if (r)
		set_rate(s, budget_factor(before));
	else
		sampler_set_periods(s->sampler, s->periods);
	return r;
}

void session_keep_budget(struct session *s, uint64_t now_ns)
{
	unsigned before = s->budget.step;
	struct budget_look look;

	if (now_ns < s->budget.last.now_ns + BUDGET_WINDOW_NS)
		return;
	session_look(s, &look);
	if (!budget_update(&s->budget, &look))
		return;
	if (!s->budget.config.fixed_rate && change_rate(s, before)) {
		s->budget.step = before;
		return;
	}
	pace_followers(s, budget_factor(s->budget.step));
}

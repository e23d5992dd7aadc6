/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a session costs, read where it is counted, and what the budget's rule says, applied. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "collect/cost/governor.h"
#include "collect/host/host.h"
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

/* Of the budget: what looking at the cost of an interrupt again and again may take; and while what
 * is charged is remembered, of a machine that others left more or less of its caches. */
#define WATCH_SHARE	       0.02
#define WATCH_SHARE_REMEMBERED 0.1
/* A rate that would differ by this factor at the present cost of an interrupt is planned again. */
#define PLAN_AGAIN 1.25

/* That were paid for by who runs. */
static double interrupts(const struct session *s)
{
	struct sampler_counters c;

	sampler_read_counters(s->sampler, &c);
	return (double)(c.samples + c.outside - c.idle - c.ticks + c.redraws);
}

void session_look(const struct session *s, struct budget_look *ret)
{
	struct allowance_totals helpers;
	struct sampler_counters c;
	struct files_counters files;
	uint64_t now_ns = clock_monotonic_ns();

	files_read_counters(s->files, &files);
	sampler_read_counters(s->sampler, &c);
	allowance_read(s->helpers, &helpers);
	*ret = (struct budget_look){.now_ns = now_ns};
	/* Not by samples: not every event has some of idle time. */
	ret->busy_ns = sampler_cpus(s->sampler) * (double)now_ns - (double)host_idle_ns("");
	ret->spent_ns[BUDGET_INTERRUPTS] =
		s->charged_ns + s->rate.charge_ns * (interrupts(s) - s->charged);
	if (s->running)
		followers_charge(&s->followers, ret->spent_ns);
	ret->spent_ns[BUDGET_PROGRAMS] = (double)c.program_ns;
	ret->spent_ns[BUDGET_TICKS] = (double)c.tick_ns;
	ret->spent_ns[BUDGET_RECORDS] = RECORD_NS * (double)s->records;
	ret->spent_ns[BUDGET_COLLECTOR] = process_cpu_ns() - (double)helpers.thread_ns +
					  (double)image_worker_cpu_ns(s->worker) +
					  (double)files.worker_ns;
	if (s->config.other_cpu_ns)
		ret->spent_ns[BUDGET_COLLECTOR] -= (double)s->config.other_cpu_ns(s->config.other);
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
	s->first_hz = s->planned_hz = s->rate.hz;
	session_look(s, &look);
	budget_start(&s->budget, &config, &look);
}

/* Periods are planned ones but for what the user fixed. */
static void set_rate(struct session *s, double hz)
{
	s->rate.hz = hz;
	for (size_t i = 0; i < s->config.event_count; i++)
		if (!s->config.events[i].period)
			s->periods[i] = period_at(s->planned[i], hz / s->first_hz);
}

/* What was sampled before goes under the period that it had: drained and written first, while the
 * batch still has that. Where it cannot be written all stays as it was, until the next window. */
static int change_rate(struct session *s, double planned_hz, unsigned step)
{
	double before = s->rate.hz;
	int r = session_drain_all(s, NULL);

	if (!r) {
		set_rate(s,
			 fmax(planned_hz * budget_factor(step), fmin(planned_hz, GOVERNOR_MIN_HZ)));
		r = session_write_batch(s, &s->trouble);
	}
	if (r)
		set_rate(s, before);
	else
		sampler_set_periods(s->sampler, s->periods);
	return r;
}

static unsigned count_planned(const struct session *s)
{
	unsigned count = 0;

	for (size_t i = 0; i < s->config.event_count; i++)
		count += !s->config.events[i].period;
	return count;
}

/* What an interrupt costs by now is charged from here on. True when the plan is another. */
static bool look_at_cost(struct session *s, uint64_t now_ns)
{
	double share = (s->rate.remembered ? WATCH_SHARE_REMEMBERED : WATCH_SHARE) *
		       s->config.budget_percent / 100 * s->budget.config.cpus;
	struct rate rate = s->rate;
	uint64_t took_ns;
	double hz;

	if (!s->watch || now_ns < s->next_watch_ns)
		return false;
	bool known = rate_look(s->watch, &s->wish, count_planned(s), &rate, &hz, &took_ns);
	s->next_watch_ns = now_ns + (uint64_t)((double)took_ns / share);
	if (!known)
		return false;
	double all = interrupts(s);
	s->charged_ns += s->rate.charge_ns * (all - s->charged);
	s->charged = all;
	s->rate = rate;
	if (fabs(log(hz / s->planned_hz)) < log(PLAN_AGAIN) || change_rate(s, hz, s->budget.step))
		return false;
	s->planned_hz = hz;
	return true;
}

/* Random samples alone are as many as the budget allows. */
static void lift_limit(struct session *s)
{
	if (s->wish.most_hz <= 0)
		return;
	s->wish.most_hz = 0;
	double hz = rate_governed_hz(&s->wish, s->rate.charge_ns, count_planned(s));

	if (!change_rate(s, hz, s->budget.step))
		s->planned_hz = hz;
}

/* No rate lowers what ticks cost, and programs that wait for timers again and again raise it. True
 * when it was too much. */
static bool drop_ticks(struct session *s)
{
	if (!sampler_tick(s->sampler) || s->budget.config.fixed_rate ||
	    s->budget.window.percent[BUDGET_TICKS] <= s->interrupts_percent)
		return false;
	sampler_drop_tick(s->sampler);
	session_follow_event(s);
	lift_limit(s);
	log_warning("ticks cost %.2g%%, more than the %.2g%% allowed: from now on only timers are "
		    "sampled, %.4g times a second at most",
		    s->budget.window.percent[BUDGET_TICKS], s->interrupts_percent, s->planned_hz);
	return true;
}

static bool keep_step(struct session *s)
{
	unsigned before = s->budget.step;
	struct budget_look look;

	session_look(s, &look);
	if (!budget_update(&s->budget, &look))
		return false;
	if (!s->budget.config.fixed_rate && change_rate(s, s->planned_hz, s->budget.step)) {
		s->budget.step = before;
		return false;
	}
	return true;
}

void session_keep_budget(struct session *s, uint64_t now_ns)
{
	if (now_ns < s->budget.last.now_ns + BUDGET_WINDOW_NS)
		return;
	bool changed = keep_step(s);

	changed |= drop_ticks(s);
	if (look_at_cost(s, now_ns) || changed)
		followers_set_pace(&s->followers, budget_factor(s->budget.step),
				   session_followed_hz(s));
}

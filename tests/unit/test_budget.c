/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The budget's rule against machines that are made up: what they cost at each step, window by
 * window; and the allowance of work that can wait. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/cost/allowance.h"
#include "collect/cost/budget.h"

#define CPUS 4.0

/* Costs in percent, of a CPU at work at step 0 and of the machine. */
struct load {
	double interrupts, stacks, programs, collector, helpers;
	double busy; /* CPUs */
};

struct machine {
	struct budget budget;
	struct budget_look look;
};

static void begin(struct machine *m, double percent, bool fixed_rate)
{
	const struct budget_config config = {percent, CPUS, fixed_rate};

	*m = (struct machine){.look = {.now_ns = 5000000000u}};
	/* What starting took is no part of it. */
	m->look.spent_ns[BUDGET_COLLECTOR] = 3e9;
	budget_start(&m->budget, &config, &m->look);
}

/* One window of a load; true when the step has changed. */
static bool pass(struct machine *m, const struct load *l)
{
	double window = BUDGET_WINDOW_NS, busy = l->busy * window;
	double factor = budget_factor(m->budget.step);
	double rate = m->budget.config.fixed_rate ? 1 : factor;

	m->look.now_ns += BUDGET_WINDOW_NS;
	m->look.busy_ns += busy;
	m->look.spent_ns[BUDGET_INTERRUPTS] += l->interrupts / 100 * busy * rate;
	m->look.spent_ns[BUDGET_STACKS] += l->stacks / 100 * busy * factor;
	m->look.spent_ns[BUDGET_PROGRAMS] += l->programs / 100 * busy;
	m->look.spent_ns[BUDGET_COLLECTOR] += l->collector / 100 * window * CPUS;
	m->look.spent_ns[BUDGET_HELPERS] += l->helpers / 100 * window * CPUS;
	return budget_update(&m->budget, &m->look);
}

static void parts_add_up(void **state)
{
	const struct load l = {0.5, 0.1, 0.05, 0.2, 0.6, 2};
	struct budget_use all;
	struct machine m;

	(void)state;
	begin(&m, 1, false);
	assert_false(pass(&m, &l));
	assert_true(fabs(m.budget.window.percent[BUDGET_INTERRUPTS] - 0.5) < 1e-9);
	assert_true(fabs(m.budget.window.percent[BUDGET_COLLECTOR] - 0.2) < 1e-9);
	assert_true(fabs(m.budget.window.sum - 0.85) < 1e-9);
	/* A burst of what can wait is spread over ten minutes, the start's is none of it. */
	pass(&m, &(struct load){.busy = 0, .collector = 0.1, .helpers = 0.6});
	assert_true(fabs(m.budget.window.sum - 0.11) < 1e-9);
	all = budget_since_start(&m.budget, &m.look);
	assert_true(fabs(all.percent[BUDGET_COLLECTOR] - 0.15) < 1e-9);
	assert_true(fabs(all.percent[BUDGET_HELPERS] - 0.6) < 1e-9);
	/* A window is not judged before it is over. */
	m.look.now_ns += BUDGET_WINDOW_NS / 2;
	m.look.spent_ns[BUDGET_COLLECTOR] += 1e12;
	assert_false(budget_update(&m.budget, &m.look));
	assert_int_equal(m.budget.windows, 2);
	assert_int_equal(m.budget.over, 0);
}

/* Whatever the load, one window above the budget is the last, unless the floor is reached. */
static void one_window_is_enough(void **state)
{
	(void)state;
	for (double interrupts = 0.3; interrupts < 6; interrupts *= 1.3)
		for (double rest = 0; rest < 0.9; rest += 0.1) {
			const struct load l = {interrupts, interrupts / 5, rest / 4,
					       rest / 2,   rest / 4,	   3};
			double floor = 1.2 * interrupts * budget_factor(BUDGET_STEPS - 1) + rest;
			struct machine m;

			begin(&m, 1, false);
			/* Until all of what the helpers take has come to count. */
			for (int i = 0; i <= BUDGET_SPREAD; i++)
				pass(&m, &l);
			for (int i = 0; i < 100; i++) {
				pass(&m, &l);
				if (m.budget.window.sum > 1 + 1e-9 &&
				    (floor <= 1 || m.budget.step < BUDGET_STEPS - 1))
					fail_msg("%g%% with %g and %g, at step %u",
						 m.budget.window.sum, interrupts, rest,
						 m.budget.step);
			}
		}
}

/* What is new at the start is not what goes on. */
static void the_start_is_not_judged(void **state)
{
	const struct load first = {0.6, 0.1, 0.1, 3, 9, 4}, then = {0.6, 0.1, 0.01, 0.05, 0.02, 4};
	struct machine m;

	(void)state;
	begin(&m, 1, false);
	assert_false(pass(&m, &first));
	for (int i = 0; i < 100; i++)
		assert_false(pass(&m, &then));
	begin(&m, 1, false);
	assert_false(pass(&m, &first));
	assert_true(pass(&m, &first));
	assert_int_equal(m.budget.over, 1);
}

/* What is new costs once, and no sample: not at the start and not later. What goes on counts. */
static void news_lower_no_rate(void **state)
{
	/* As seen in a virtual machine, in %: the symbols and code of one large program. */
	const struct load calm = {0.5, 0.1, 0.01, 0.2, 0, 2}, news = {0.5, 0.1, 0.01, 0.2, 8, 2};
	struct machine m;

	(void)state;
	begin(&m, 1, false);
	for (int i = 0; i < 200; i++)
		assert_false(pass(&m, i % 70 ? &calm : &news));
	assert_int_equal(m.budget.over, 0);
	for (int i = 0; i < BUDGET_SPREAD; i++)
		pass(&m, &news);
	assert_in_range(m.budget.step, 1, 2);
	/* However much it was: more than the allowance is debt, which stops the helpers. */
	assert_true(m.budget.window.percent[BUDGET_HELPERS] <= 0.3 + 1e-9);
}

/* Under a steady load it comes to rest, and nowhere lower than it must. */
static void it_comes_to_rest(void **state)
{
	(void)state;
	for (double interrupts = 0.2; interrupts < 8; interrupts *= 1.1) {
		const struct load l = {interrupts, 0.1, 0.05, 0.1, 0.1, 4};
		struct machine m;

		begin(&m, 1, false);
		for (int i = 0; i < 2 * BUDGET_SPREAD; i++)
			pass(&m, &l);
		for (int i = 0; i < 200; i++)
			assert_false(pass(&m, &l));
		assert_true(m.budget.step < BUDGET_STEPS);
		if (m.budget.step)
			assert_true((interrupts + 0.1) * budget_factor(m.budget.step - 1) + 0.25 >
				    1);
	}
}

static void it_rises_again(void **state)
{
	const struct load heavy = {0.7, 0.1, 0.1, 0.6, 0.2, 4},
			  light = {0.7, 0.1, 0.01, 0.05, 0, 4};
	struct machine m;
	unsigned lowest, before;
	int up = 0, last = 0;

	(void)state;
	begin(&m, 1, false);
	for (int i = 0; i < 5; i++)
		pass(&m, &heavy);
	lowest = m.budget.step;
	assert_true(lowest >= 2);
	/* By single steps, each after a minute that would have had room for it. */
	for (int i = 0; i < 60; i++) {
		before = m.budget.step;
		if (!pass(&m, &light))
			continue;
		assert_int_equal(m.budget.step, before - 1);
		assert_true(i - last >= BUDGET_CALM || !up);
		last = i;
		up++;
	}
	assert_int_equal(m.budget.step, 0);
	assert_int_equal(up, lowest);
	assert_true(m.budget.window.sum < 1);
}

/* A burst now and then does not have the rate go up and down with it. */
static void bursts_do_not_swing_it(void **state)
{
	const struct load calm = {0.7, 0.1, 0.01, 0.05, 0, 4}, burst = {0.7, 0.1, 0.1, 0.4, 0.2, 4};
	struct machine m;
	int changes = 0;

	(void)state;
	begin(&m, 1, false);
	for (int i = 0; i < 300; i++)
		changes += pass(&m, i % 4 ? &calm : &burst);
	assert_true(changes <= 2);
	assert_true(m.budget.over <= 1);
}

/* A rate of the user's stays, and nothing else gives way to it; when the others alone are too
 * much, what follows samples does. And there is a floor. */
static void what_cannot_be_lowered(void **state)
{
	const struct load high = {5, 0.4, 0, 0.1, 0, 4}, l = {2, 0.4, 0, 1.1, 0, 4};
	const struct load rest = {0.1, 0, 0, 3, 0, 4};
	struct machine m;

	(void)state;
	begin(&m, 1, true);
	for (int i = 0; i < 10; i++)
		assert_false(pass(&m, &high));
	assert_true(m.budget.over == 0 && fabs(m.budget.window.sum - 5.5) < 1e-9);
	begin(&m, 1, true);
	for (int i = 0; i < 10; i++)
		pass(&m, &l);
	assert_int_equal(m.budget.step, BUDGET_STEPS - 1);
	assert_true(fabs(m.budget.window.percent[BUDGET_INTERRUPTS] - 2) < 1e-9);
	assert_true(fabs(m.budget.window.percent[BUDGET_STACKS] - 0.05) < 1e-9);
	begin(&m, 1, false);
	for (int i = 0; i < 10; i++)
		pass(&m, &rest);
	assert_int_equal(m.budget.step, BUDGET_STEPS - 1);
	assert_int_equal(m.budget.over, 9);
	assert_true(fabs(budget_factor(BUDGET_STEPS - 1) - 0.125) < 1e-9);
}

#define SECOND 1000000000ull

static void allowance_holds(void **state)
{
	/* 10 ms a second, 600 ms at once. */
	struct allowance *a = allowance_new(1e7, 6e8, SECOND);
	struct allowance_totals totals;
	uint64_t now = SECOND, spent = 0;

	(void)state;
	assert_non_null(a);
	assert_true(allowance_ready_ns(a, 0, now) <= now);
	/* Pieces of 100 ms, as soon as one may begin, for an hour. */
	while (now < 3600 * SECOND) {
		uint64_t ready = allowance_ready_ns(a, 0, now);

		now = ready > now ? ready : now;
		allowance_spend(a, 0, 40000000, 60000000, now);
		spent += 100000000;
		assert_true(spent <= 6e8 + 1e8 + 1e7 * (double)(now - SECOND) / 1e9 + 1);
	}
	assert_true((double)spent > 0.95 * 36e9);
	allowance_read(a, &totals);
	assert_true(totals.thread_ns + totals.worker_ns == spent && totals.waits > 100);
	/* What was not used is there later, but no more than a burst. */
	now += 100 * 3600 * SECOND;
	allowance_spend(a, 0, 600000001, 0, now);
	assert_true(allowance_ready_ns(a, 0, now) > now);
	allowance_lift(a);
	assert_true(allowance_ready_ns(a, 0, now) <= now);
	allowance_free(a);
	assert_true(allowance_ready_ns(NULL, 0, 7) == 7);
	allowance_spend(NULL, 0, 1, 1, 1);
}

/* Whose file costs much waits for long, and nobody else does; all of them have what there is. */
static void each_user_pays_for_his_own(void **state)
{
	struct allowance *a = allowance_new(1e7, 6e8, SECOND);
	uint64_t now = SECOND, spent = 0, ready;

	(void)state;
	assert_non_null(a);
	allowance_spend(a, 1000, 8600000000, 0, now);
	/* 8 s of debt, at 10 ms a second. */
	assert_int_equal(allowance_ready_ns(a, 1000, now), now + 800 * SECOND + 1);
	assert_true(allowance_ready_ns(a, 0, now) <= now);
	/* Beside him another has at least half of what comes in, and the first burst. */
	while (now < 3600 * SECOND) {
		ready = allowance_ready_ns(a, 0, now);
		now = ready > now ? ready : now;
		allowance_spend(a, 0, 0, 100000000, now);
		spent += 100000000;
	}
	assert_true((double)spent >= 0.5 * 1e7 * 3600);
	assert_true((double)spent <= 1e7 * 3600 - 8e9 + 6e8 + 1e8);
	/* So many are users of their own; all others are one. */
	for (uid_t user = 1; user < 100; user++)
		allowance_spend(a, user, 700000000, 0, now);
	ready = allowance_ready_ns(a, 98, now);
	assert_true(ready > now + 85 * 10 * SECOND);
	assert_int_equal(allowance_ready_ns(a, 99, now), ready);
	allowance_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(one_window_is_enough),
		cmocka_unit_test(the_start_is_not_judged),
		cmocka_unit_test(news_lower_no_rate),
		cmocka_unit_test(it_comes_to_rest),
		cmocka_unit_test(it_rises_again),
		cmocka_unit_test(bursts_do_not_swing_it),
		cmocka_unit_test(what_cannot_be_lowered),
		cmocka_unit_test(allowance_holds),
		cmocka_unit_test(each_user_pays_for_his_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

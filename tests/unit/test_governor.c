/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "collect/event_name.h"
#include "collect/governor.h"

#define PLAIN TEST_DATA "/machines/plain"

static void check_rate(struct governor_rate r, double hz, const char *bound)
{
	if (fabs(r.hz - hz) > hz * 1e-9 || strcmp(r.bound, bound))
		fail_msg("%g Hz by %s, wanted %g by %s", r.hz, r.bound, hz, bound);
}

static void test_rate(void **state)
{
	double least = GOVERNOR_MIN_HZ, most = GOVERNOR_MAX_HZ;

	(void)state;
	/* 1% of a second is 10 ms. */
	check_rate(governor_choose_rate(15000 - GOVERNOR_DRAIN_NS, 1, 1, 100000), 10e6 / 15000,
		   "budget");
	check_rate(governor_choose_rate(15000 - GOVERNOR_DRAIN_NS, 1, 4, 0), 2.5e6 / 15000,
		   "budget");
	check_rate(governor_choose_rate(100, 5, 1, 0), most, "maximum");
	check_rate(governor_choose_rate(100, 5, 1, 1000), 875, "kernel");
	check_rate(governor_choose_rate(1e6, 0.00001, 1, 0), least, "minimum");
	check_rate(governor_choose_rate(1e6, 1, 1, 0.5), least, "minimum");
	check_rate(governor_choose_rate(NAN, NAN, 0, NAN), least, "minimum");
	check_rate(governor_choose_rate(-5, 1, 1, 0), most, "maximum");
	/* What it promises is what it costs. */
	for (double cost = 300; cost < 1e5; cost *= 3) {
		struct governor_rate r = governor_choose_rate(cost, 0.7, 3, 100000);

		assert_true(r.slowdown_percent <= 0.7 + 1e-9);
		assert_true(fabs(r.hz * 3 * (cost + GOVERNOR_DRAIN_NS) / 1e7 - r.slowdown_percent) <
			    1e-9);
	}
}

static uint64_t period_of(const char *name, double hz)
{
	struct event e = {0};
	uint64_t period;

	assert_int_equal(event_name_parse(PLAIN, name, &e, NULL), 0);
	period = governor_period(PLAIN, &e, hz);
	event_free(&e);
	return period;
}

static void test_period(void **state)
{
	(void)state;
	assert_int_equal(period_of("cpu-clock", 1000), 1000000);
	assert_int_equal(period_of("task-clock:u", 250), 4000000);
	/* The tree says nothing of frequency: 3 GHz. */
	assert_int_equal(period_of("cycles:p", 1000), 3000000);
	assert_int_equal(period_of("instructions", 1000), 12000000);
	assert_int_equal(period_of("page-faults", 1000), 100);
	assert_int_equal(period_of("page-faults", 1e9), 1);
	assert_int_equal(period_of("sched:sched_switch", 1000), 1);
	assert_true(period_of("cycles", 0) >= 1);
	assert_true(period_of("cycles", NAN) >= 1);
	assert_true(period_of("cycles", 1e-300) <= INT64_MAX);
}

static void test_summary(void **state)
{
	double values[] = {100, 102, 98, 104, 96, 1e9, -1e9};
	struct governor_cost c = {0};

	(void)state;
	governor_summarize(values, 7, &c);
	assert_true(c.cost_ns == 100 && c.low_ns == 97 && c.high_ns == 103 && c.pairs == 7);
	assert_true(c.error_ns > 1 && c.error_ns < 3);
	governor_summarize(values, 1, &c);
	assert_true(c.cost_ns == -1e9 && c.error_ns == 0);
	governor_summarize(values, 0, &c);
	assert_int_equal(c.pairs, 0);
}

static int refuse(void *arg, int fd)
{
	*(int *)arg = fd;
	return -EPERM;
}

/* The real thing: whatever it gives is usable, and the thread's affinity is as before. */
static void test_measure(void **state)
{
	struct governor_cost c = {0};
	struct event e;
	cpu_set_t before, after;
	int fd = -1;

	(void)state;
	if (event_parse("cpu-clock", &e, NULL))
		skip();
	sched_getaffinity(0, sizeof(before), &before);
	assert_int_equal(governor_measure(&e, -1, NULL, NULL, &c, NULL), 0);
	assert_true(c.cost_ns > 0 && c.cost_ns < 1e6);
	assert_true(c.measured == !c.why[0]);
	assert_true(c.low_ns <= c.cost_ns && c.cost_ns <= c.high_ns);
	c.pairs = 12345;
	assert_int_equal(governor_measure(&e, -1, refuse, &fd, &c, NULL), -EPERM);
	assert_true(fd >= 0 && c.pairs == 12345);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
	event_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

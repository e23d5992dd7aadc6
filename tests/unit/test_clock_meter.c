/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The clock while samples are taken (collect/cost/clock_meter.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "collect/cost/clock_meter.h"

static void test_no_reading_is_no_clock(void **state)
{
	struct clock_meter m = {.count = 0};
	double deviation = 1;

	(void)state;
	clock_meter_take(&m, 0);
	assert_true(clock_meter_hz(&m, &deviation) == 0);
	assert_true(deviation == 0);
}

static void test_one_slow_reading_moves_nothing(void **state)
{
	struct clock_meter m = {.count = 0};
	double deviation;

	(void)state;
	for (int i = 0; i < 9; i++)
		clock_meter_take(&m, i == 4 ? 1e9 : 3e9);
	assert_true(clock_meter_hz(&m, &deviation) == 3e9);
	assert_true(deviation == 0);
}

static void test_readings_apart_are_told(void **state)
{
	struct clock_meter m = {.count = 0};
	double deviation;

	(void)state;
	/* An even spread over a tenth: its quartiles are half of that apart. */
	for (int i = 0; i <= 40; i++)
		clock_meter_take(&m, 3e9 * exp(0.1 * i / 40));
	assert_float_equal(log(clock_meter_hz(&m, &deviation) / 3e9), 0.05, 1e-6);
	assert_float_equal(deviation, 1.253 * 0.05 / 1.349 / sqrt(41), 1e-6);
}

static void test_readings_are_of_all_of_a_long_time(void **state)
{
	struct clock_meter m = {.gap_ns = 1};
	double deviation;

	(void)state;
	/* Slow for the first half, fast for the other. */
	for (uint64_t now = 0, next = 0; now < 10000; now++) {
		if (now < next)
			continue;
		clock_meter_take(&m, now < 5000 ? 2e9 : 3e9);
		assert_true(m.count <= CLOCK_METER_READINGS);
		next = now + m.gap_ns;
	}
	clock_meter_hz(&m, &deviation);
	assert_true(m.gap_ns > 1);
	assert_true(deviation > 0.02);
}

static void test_a_reading_is_a_clock_and_is_due_at_times(void **state)
{
	struct clock_meter m = {.count = 0};
	double deviation;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	clock_meter_look(&m, 1000);
	clock_meter_look(&m, 2000);
	assert_int_equal(m.count, 1);
	clock_meter_look(&m, 1000 + m.gap_ns);
	assert_int_equal(m.count, 2);
	assert_true(clock_meter_hz(&m, &deviation) > 1e8);
	assert_true(clock_meter_hz(&m, &deviation) < 2e10);
}

static void test_interrupts_take_a_share(void **state)
{
	struct clock_meter m = {.count = 0};

	(void)state;
	clock_meter_take(&m, 3e9);
	clock_meter_begin(&m, 1000000000, 5000);
	assert_int_equal(m.count, 0);
	/* 4000 a second on two CPUs, of 10 us each. */
	assert_float_equal(clock_meter_interrupted(&m, 3000000000, 13000, 2, 10000), 0.02, 1e-9);
	assert_true(clock_meter_interrupted(&m, 3000000000, 0, 2, 10000) == 0);
	assert_true(clock_meter_interrupted(&m, 3000000000, 13000, 2, 0) == 0);
	clock_meter_begin(&m, 1000000000, 0);
	assert_true(clock_meter_interrupted(&m, 3000000000, 13000, 2, 10000) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_reading_is_no_clock),
		cmocka_unit_test(test_one_slow_reading_moves_nothing),
		cmocka_unit_test(test_readings_apart_are_told),
		cmocka_unit_test(test_readings_are_of_all_of_a_long_time),
		cmocka_unit_test(test_a_reading_is_a_clock_and_is_due_at_times),
		cmocka_unit_test(test_interrupts_take_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

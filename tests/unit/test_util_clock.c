/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>
#include "util/clock.h"

static void test_clocks(void **state)
{
	uint64_t a = clock_monotonic_ns(), b = clock_monotonic_ns();
	time_t seconds = time(NULL);

	(void)state;
	assert_true(a > 0 && b >= a);
	assert_true(clock_wall_ns() / 1000000000 >= (uint64_t)seconds - 1);
}

static void test_time_that_is_left(void **state)
{
	(void)state;
	assert_int_equal(clock_ms_until(5, 5, 100), 0);
	assert_int_equal(clock_ms_until(0, UINT64_MAX, 100), 0);
	/* Rounded up: whoever waited comes when it is time, not before. */
	assert_int_equal(clock_ms_until(6, 5, 100), 1);
	assert_int_equal(clock_ms_until(3000000, 1000000, 100), 2);
	assert_int_equal(clock_ms_until(3000001, 1000000, 100), 3);
	assert_int_equal(clock_ms_until(UINT64_MAX, 0, 100), 100);
	assert_int_equal(clock_ms_until(UINT64_MAX, 0, INT32_MAX), INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_clocks),
					   cmocka_unit_test(test_time_that_is_left)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

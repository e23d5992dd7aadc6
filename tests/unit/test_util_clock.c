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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_clocks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

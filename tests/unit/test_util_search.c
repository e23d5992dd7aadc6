/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "util/search.h"

/* Of every length, for every place where the condition begins to hold, and nowhere beyond. */
static void test_first(void **state)
{
	(void)state;
	for (size_t count = 0; count < 40; count++)
		for (size_t first = 0; first <= count; first++) {
			size_t looks = 0;

			assert_int_equal(
				SEARCH_FIRST(count, i,
					     (assert_true(i < count), looks++, i >= first)),
				first);
			assert_true(looks <= 6);
		}
}

static void test_of_the_greatest_count(void **state)
{
	const size_t last = SIZE_MAX - 1;

	(void)state;
	assert_int_equal(SEARCH_FIRST(SIZE_MAX, i, i >= last), last);
	assert_int_equal(SEARCH_FIRST(SIZE_MAX, i, i > last), SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_of_the_greatest_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

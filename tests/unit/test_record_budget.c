/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One process that has records without end takes none of the others'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/record_budget.h"

static void test_each_has_its_own(void **state)
{
	struct record_budget *b = record_budget_new();
	uint64_t now = 5 * RECORD_BUDGET_NS, left_out;
	pid_t pid;

	(void)state;
	assert_non_null(b);
	for (int i = 0; i < RECORD_BUDGET; i++)
		assert_true(record_budget_take(b, 1, now));
	for (int i = 0; i < 1000; i++)
		assert_false(record_budget_take(b, 1, now));
	assert_true(record_budget_take(b, 2, now));
	/* It has not calmed down yet, nor in an interval in which it goes on. */
	assert_false(record_budget_calmed(b, now, &pid, &left_out));
	now += RECORD_BUDGET_NS;
	for (int i = 0; i < RECORD_BUDGET; i++)
		assert_true(record_budget_take(b, 1, now));
	assert_false(record_budget_take(b, 1, now));
	assert_false(record_budget_calmed(b, now, &pid, &left_out));
	now += RECORD_BUDGET_NS;
	assert_true(record_budget_calmed(b, now, &pid, &left_out));
	assert_int_equal(pid, 1);
	assert_int_equal(left_out, 1001);
	assert_false(record_budget_calmed(b, now, &pid, &left_out));
	record_budget_free(b);
}

static void test_all_of_many_are_counted(void **state)
{
	struct record_budget *b = record_budget_new();
	uint64_t now = 5 * RECORD_BUDGET_NS, left_out, sum = 0;
	pid_t pid;

	(void)state;
	for (pid_t one = 1; one <= 400; one++)
		for (int i = 0; i < RECORD_BUDGET + 1; i++)
			record_budget_take(b, one, now);
	now += RECORD_BUDGET_NS;
	while (record_budget_calmed(b, now, &pid, &left_out))
		sum += left_out;
	assert_int_equal(sum, 400);
	record_budget_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_its_own),
		cmocka_unit_test(test_all_of_many_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

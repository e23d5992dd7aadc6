/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts of pairs, as imports add them up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "exchange/tuples.h"

#define PAIRS 5000 /* the table grows several times */

static void pairs_keep_their_numbers(void **state)
{
	struct tuples *t = tuples_new(PAIRS);
	uint32_t number;

	(void)state;
	assert_non_null(t);
	for (uint64_t round = 1; round <= 3; round++)
		for (uint32_t i = 0; i < PAIRS; i++) {
			/* Pairs that differ in one half only, or in which is which. */
			uint64_t a = i / 3 * 2, b = i % 3 ? (uint64_t)i << 32 : UINT64_MAX - i;

			assert_int_equal(tuples_add(t, a, b, round * i, &number), 0);
			assert_int_equal(number, i);
		}
	assert_int_equal(tuples_count(t), PAIRS);
	for (uint32_t i = 0; i < PAIRS; i++) {
		assert_int_equal(tuples_at(t, i)->a, i / 3 * 2);
		assert_int_equal(tuples_at(t, i)->count, 6 * (uint64_t)i);
	}
	tuples_free(t);
}

static void halves_are_not_exchanged(void **state)
{
	struct tuples *t = tuples_new(10);
	uint32_t one, other;

	(void)state;
	assert_non_null(t);
	assert_int_equal(tuples_add(t, 1, 2, 1, &one), 0);
	assert_int_equal(tuples_add(t, 2, 1, 1, &other), 0);
	assert_int_not_equal(one, other);
	tuples_free(t);
}

static void limits_hold(void **state)
{
	struct tuples *t = tuples_new(2);
	uint32_t number = 99;

	(void)state;
	assert_non_null(t);
	assert_int_equal(tuples_add(t, 1, 1, UINT64_MAX - 1, NULL), 0);
	assert_int_equal(tuples_add(t, 2, 2, 1, NULL), 0);
	assert_int_equal(tuples_add(t, 3, 3, 1, &number), -ENOSPC);
	assert_int_equal(number, 99);
	assert_int_equal(tuples_count(t), 2);
	/* What is there already goes on counting, up to the largest number. */
	assert_int_equal(tuples_add(t, 1, 1, 5, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(tuples_at(t, 0)->count, UINT64_MAX);
	tuples_free(t);
	tuples_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_keep_their_numbers),
		cmocka_unit_test(halves_are_not_exchanged),
		cmocka_unit_test(limits_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

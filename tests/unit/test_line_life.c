/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "analyze/culprits/line_life.h"

static void near(double value, double wanted)
{
	if (fabs(value - wanted) > 0.03 * wanted)
		fail_msg("%g, not %g", value, wanted);
}

static void test_alike(void **state)
{
	(void)state;
	double counts[1000];
	for (unsigned i = 0; i < 1000; i++)
		counts[i] = 50;
	/* n (1 - exp(-50 life)) = room */
	near(line_life(counts, 1000, 0, 500), log(2) / 50);
	near(line_life(counts, 1000, 1000, 900), log(10) / 50);
	/* Of twice as many half is seen: these have half of the room. */
	near(line_life(counts, 1000, 2000, 1000), log(2) / 50);
}

static void test_uneven(void **state)
{
	(void)state;
	double counts[1000], life, held = 0;
	for (unsigned i = 0; i < 1000; i++)
		counts[i] = 1e6 / (i + 1.0);
	life = line_life(counts, 1000, 1000, 128);
	for (unsigned i = 0; i < 1000; i++)
		held += 1 - exp(-counts[i] * life);
	near(held, 128);
	/* What runs most is there, what runs least is not. */
	assert_true(exp(-counts[0] * life) < 0.01);
	assert_true(exp(-counts[999] * life) > 0.5);
}

static void test_room_for_all(void **state)
{
	(void)state;
	const double counts[3] = {1, 2, 3}, none[3] = {0, 0, 0};
	assert_true(isinf(line_life(counts, 3, 3, 3)));
	assert_true(isinf(line_life(counts, 0, 0, 512)));
	assert_true(isinf(line_life(none, 3, 3, 2)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_room_for_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "analyze/compare/balance.h"

#define NEAR(a, b, error) assert_true(fabs((a) - (b)) <= (error))

static void test_values(void **state)
{
	static const uint64_t even[4] = {25, 25, 25, 25}, one[4] = {0, 100, 0, 0};
	static const uint64_t some[3] = {10, 20, 60}, two[2] = {60, 40}, none[2] = {0, 0};
	struct balance b;

	(void)state;
	balance_find(even, 4, &b);
	assert_int_equal(b.sum, 100);
	NEAR(b.imbalance, 0, 0);
	NEAR(b.chance, 1, 1e-9);
	balance_find(one, 4, &b);
	NEAR(b.imbalance, 300, 1e-9);
	assert_true(b.chance < 1e-9 && b.least == 0 && b.most == 100);
	balance_find(some, 3, &b);
	NEAR(b.mean, 30, 0);
	NEAR(b.imbalance, 100, 1e-9);
	assert_true(b.least == 10 && b.most == 60 && b.count == 3);
	balance_find(two, 2, &b);
	NEAR(b.imbalance, 20, 1e-9);
	NEAR(b.chance, 2 * 0.02844397, 1e-7); /* the exact binomial test */
	balance_find(two, 1, &b);
	assert_true(b.imbalance == 0 && b.chance == 1);
	balance_find(none, 2, &b);
	assert_true(b.imbalance == 0 && b.chance == 1 && b.mean == 0);
	balance_find(none, 0, &b);
	assert_true(b.count == 0 && b.imbalance == 0 && b.chance == 1);
}

/* Samples that fall on the processes by chance alone: so often is the chance said to be below 5%.
 */
static double count_alarms(size_t processes, unsigned samples)
{
	uint64_t counts[64], random = 1;
	unsigned alarms = 0, runs = 2000;
	struct balance b;

	for (unsigned run = 0; run < runs; run++) {
		for (size_t i = 0; i < processes; i++)
			counts[i] = 0;
		for (unsigned i = 0; i < samples; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			counts[(random >> 33) % processes]++;
		}
		balance_find(counts, processes, &b);
		alarms += b.chance <= 0.05;
	}
	return (double)alarms / runs;
}

/* Three standard deviations of 2000 draws of 5% are 1.5%. */
static void test_chance(void **state)
{
	(void)state;
	assert_true(count_alarms(2, 200) <= 0.065);
	NEAR(count_alarms(4, 400), 0.05, 0.015);
	NEAR(count_alarms(16, 400), 0.05, 0.015);
	assert_true(count_alarms(64, 200) <= 0.065);
	assert_true(count_alarms(64, 60) <= 0.075);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "counting/bursts.h"

/* A tenth of the time was counted, alike in all groups. */
static struct bursts *new_bursts(void)
{
	struct bursts *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->processes[0] = (struct bursts_process){.pid = 1, .first_ns = 1000, .last_ns = 9000};
	b->process_count = 1;
	for (int g = 0; g < BURSTS_GROUPS; g++)
		b->counted_ns[g] = 100;
	return b;
}

static void test_estimate(void **state)
{
	const uint64_t even[BURSTS_GROUPS] = {50, 50, 50, 50, 50, 50, 50, 50};
	const uint64_t one[BURSTS_GROUPS] = {[3] = 400};
	const uint64_t two[BURSTS_GROUPS] = {40, 60, 40, 60, 40, 60, 40, 60};
	struct bursts *b = new_bursts();
	struct bursts_estimate e = bursts_estimate(b, 400, even);

	(void)state;
	assert_int_equal(e.count, 4000);
	/* No better than that many events. */
	assert_int_equal(e.windows, 400);
	/* All at once: as well as nothing. */
	e = bursts_estimate(b, 400, one);
	assert_int_equal(e.count, 4000);
	assert_int_equal(e.windows, 1);
	/* A deviation of 10 in each of 8, 30 in the sum by 7 of 8: 1/13 of it. */
	e = bursts_estimate(b, 400, two);
	assert_int_equal(e.windows, 400 * 400 * 7 / (800 * 8));
	/* A group of half the time has half the executions, which says nothing against it. */
	b->counted_ns[0] = 50;
	b->counted_ns[1] = 150;
	e = bursts_estimate(b, 400,
			    (const uint64_t[BURSTS_GROUPS]){25, 75, 50, 50, 50, 50, 50, 50});
	assert_int_equal(e.windows, 400);
	e = bursts_estimate(b, 0, (const uint64_t[BURSTS_GROUPS]){0});
	assert_int_equal(e.count, 0);
	bursts_free(b);
}

static void test_counters(void **state)
{
	struct bursts *b = calloc(1, sizeof(*b));

	(void)state;
	assert_non_null(b);
	assert_int_equal(bursts_set_slots(b, 2), 0);
	b->before[0] = 5;
	b->now[0] = 7;
	b->now[1] = 4;
	assert_int_equal(bursts_add(b, 1, 50000000), 6);
	assert_int_equal(bursts_add(b, 1, 50000000), 6);
	assert_int_equal(b->sums[1][0], 4);
	assert_int_equal(b->sums[1][1], 8);
	assert_int_equal(b->sums[0][1], 0);
	assert_int_equal(b->ran_ns[1], 100000000);
	assert_int_equal(b->count[1], 2);
	bursts_free(b);
}

/* What counting took: by counters and stops in each group, by entries alike for each counter. */
static void test_settle(void **state)
{
	struct bursts *b = calloc(1, sizeof(*b));

	(void)state;
	assert_non_null(b);
	b->ran_ns[0] = b->ran_ns[1] = b->ran_ns[2] = 10000000;
	b->counters[0] = 3000000;
	b->counters[1] = 1000000;
	b->count[0] = 5;
	bursts_settle(b, 0);
	assert_float_equal(b->counted_ns[0], 10000000 - 660000 - 50000, 1);
	assert_float_equal(b->counted_ns[1], 10000000 - 220000, 1);
	assert_float_equal(b->counted_ns[2], 10000000, 1);
	bursts_settle(b, 1000000);
	assert_float_equal(b->counted_ns[0], 10000000 - 660000 - 50000 - 3 * 525000, 1);
	assert_float_equal(b->counted_ns[1], 10000000 - 220000 - 525000, 1);
	assert_float_equal(b->counted_ns[2], 10000000, 1);
	/* More than there was. */
	bursts_settle(b, 100000000);
	assert_float_equal(b->counted_ns[0], 5000000, 1);
	bursts_free(b);
}

/* A file with one of 300 samples is not worth a plan. */
static void test_images(void **state)
{
	struct bursts *b = calloc(1, sizeof(*b));

	(void)state;
	assert_non_null(b);
	assert_int_equal(bursts_add_sample(b, 7, "/hot", 0x10, 200), 0);
	assert_int_equal(bursts_add_sample(b, 7, "/hot", 0x20, 99), 0);
	assert_int_equal(bursts_add_sample(b, 2, "/cold", 0x10, 1), 0);
	assert_int_equal(bursts_add_sample(b, 3, "[vdso]", 0x10, 99), 0);
	assert_non_null(bursts_find_image(b, "/hot"));
	assert_int_equal(bursts_find_image(b, "/hot")->count, 2);
	assert_null(bursts_find_image(b, "/cold"));
	assert_null(bursts_find_image(b, "/none"));
	assert_null(bursts_find_image(b, "[vdso]"));
	bursts_free(b);
}

/* The time of who is met first counts from then on, that of others from their birth. */
static void test_clocks(void **state)
{
	struct bursts *b = calloc(1, sizeof(*b));
	const pid_t pids[2] = {getpid(), getppid()};
	volatile unsigned n = 0;

	(void)state;
	assert_non_null(b);
	assert_int_equal(bursts_look(b, pids, 1, true), 0);
	while (!bursts_look(b, pids, 1, false))
		n++;
	assert_true(bursts_total_ns(b) > 0);
	assert_true((double)b->processes[0].first_ns + bursts_total_ns(b) ==
		    (double)b->processes[0].last_ns);
	bursts_look(b, pids, 2, false);
	assert_int_equal(b->process_count, 2);
	assert_int_equal(b->processes[1].first_ns, 0);
	bursts_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_estimate), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_settle),	 cmocka_unit_test(test_images),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

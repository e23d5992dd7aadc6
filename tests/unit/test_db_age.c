/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The clock that epochs age by goes with the time since the start, whatever the wall clock says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "db/age.h"

#define SECOND 1000000000ull
#define WALL   (1000 * SECOND)

/* What the clock shows, in seconds after it began at WALL in boot "a", 100 s after its start. */
static uint64_t aged(const char *boot, uint64_t boot_s, uint64_t wall_s)
{
	struct io_time begin = {.wall_ns = WALL, .boot_ns = 100 * SECOND, .boot_id = "a"}, now;
	struct age_clock c = age_begin(&begin);

	assert_int_equal(c.ns, WALL);
	now = (struct io_time){.wall_ns = WALL + wall_s * SECOND, .boot_ns = boot_s * SECOND};
	now.boot_id[0] = *boot;
	age_advance(&c, &now);
	assert_int_equal(c.last.boot_ns, now.boot_ns);
	return (c.ns - WALL) / SECOND;
}

static void test_runs_with_the_time_since_the_start(void **state)
{
	(void)state;
	assert_int_equal(aged("a", 110, 10), 10);
	/* The wall clock was set back. */
	assert_int_equal(aged("a", 110, 0), 10);
	assert_int_equal(aged("a", 100, 0), 0);
	assert_int_equal(aged("a", 90, 0), 0);
}

static void test_follows_the_wall_clock_slowly(void **state)
{
	(void)state;
	assert_int_equal(aged("a", 110, 30), 30);
	assert_int_equal(aged("a", 110, 1u << 30), 10 * AGE_RATE);
	assert_int_equal(aged("a", 100, 1u << 30), 0);
}

/* Of another start only what has passed since that is certain. */
static void test_another_start(void **state)
{
	(void)state;
	assert_int_equal(aged("b", 20, 20), 20);
	assert_int_equal(aged("b", 20, 0), 20);
	assert_int_equal(aged("b", 200, 1u << 30), 200 * AGE_RATE);
	assert_int_equal(aged("", 20, 1u << 30), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_with_the_time_since_the_start),
		cmocka_unit_test(test_follows_the_wall_clock_slowly),
		cmocka_unit_test(test_another_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

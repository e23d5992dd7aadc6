/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When ticks take the place of timers, and how many random samples are taken beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collect/cost/rate.h"
#include "collect/cost/tick_choice.h"
#include "collect/events/tick.h"

static void test_dear(void **state)
{
	struct event e = {.name = (char *)"cpu-clock"};
	struct diag why;

	(void)state;
	if (tick_offered(&why))
		skip();
	assert_true(tick_choice_at(&e, 15000, &why));
	assert_string_equal(why.text, "");
	assert_true(tick_choice_at(&e, TICK_CHOICE_DEAR_NS, &why));
	assert_false(tick_choice_at(&e, 1500, &why));
	assert_string_equal(why.text, "a timer's interrupt costs 1.5 us here, less than 10");
}

/* Another event says something else than time, or of something else than all of it. */
static void test_other_events(void **state)
{
	static const char *const names[] = {"cycles", "cpu-clock:u", "cpu-clock:tick"};
	struct diag why;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct event e = {.name = (char *)names[i]};

		assert_false(tick_choice_at(&e, 60000, &why));
		assert_string_equal(why.text, "");
		assert_false(tick_choice_make(&e, &why));
	}
}

static void test_rate(void **state)
{
	struct rate_wish wish = {.budget_percent = 0.65};

	(void)state;
	assert_true(rate_governed_hz(&wish, 15000, 1) > 300);
	wish.most_hz = TICK_CHOICE_RANDOM_HZ;
	assert_true(rate_governed_hz(&wish, 15000, 1) == TICK_CHOICE_RANDOM_HZ);
	/* The budget may allow fewer. */
	wish.budget_percent = 0.03;
	assert_true(rate_governed_hz(&wish, 15000, 1) < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dear),
		cmocka_unit_test(test_other_events),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/stacks/stack_counts.h"

static const struct wire_stack_key a = {{7 << 1, 1ull << 40}};
static const struct wire_stack_key like_a = {{7 << 1, 2ull << 40}}; /* but for its second half */
static const struct wire_stack_key b = {{UINT64_MAX, UINT64_MAX}};

static int set_up(void **state)
{
	*state = stack_counts_new(2);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	stack_counts_free(*state);
	return 0;
}

static void test_counts_meet_their_frames(void **state)
{
	struct stack_counts *c = *state;

	assert_int_equal(stack_counts_take(c, &a), 0);
	stack_counts_add(c, &a, 3);
	stack_counts_add(c, &a, 4);
	stack_counts_add(c, &b, 1);
	assert_int_equal(stack_counts_take(c, &a), 7);
	assert_int_equal(stack_counts_take(c, &a), 0);
	assert_int_equal(stack_counts_take(c, &b), 1);
	assert_int_equal(stack_counts_lost(c), 0);
}

static void test_others_frames_do_not_take_a_count(void **state)
{
	struct stack_counts *c = *state;

	stack_counts_add(c, &a, 3);
	assert_int_equal(stack_counts_take(c, &like_a), 0);
	stack_counts_add(c, &like_a, 5);
	assert_int_equal(stack_counts_lost(c), 5);
	assert_int_equal(stack_counts_take(c, &a), 3);
}

static void test_frames_may_come_one_drain_later(void **state)
{
	struct stack_counts *c = *state;

	stack_counts_add(c, &a, 3);
	stack_counts_add(c, &b, 2);
	stack_counts_age(c);
	assert_int_equal(stack_counts_take(c, &a), 3);
	assert_int_equal(stack_counts_lost(c), 0);
	stack_counts_age(c);
	assert_int_equal(stack_counts_lost(c), 2);
	assert_int_equal(stack_counts_take(c, &b), 0);
}

static void test_what_has_no_room_is_counted(void **state)
{
	struct stack_counts *c = *state;
	struct wire_stack_key key = {{0, 0}};

	for (key.hash[0] = 0; key.hash[0] < 10; key.hash[0] += 2)
		stack_counts_add(c, &key, 1);
	assert_int_equal(stack_counts_lost(c), 3);
	key.hash[0] = 0;
	stack_counts_add(c, &key, UINT32_MAX);
	assert_int_equal(stack_counts_lost(c), 3 + (uint64_t)UINT32_MAX);
	assert_int_equal(stack_counts_take(c, &key), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts_meet_their_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_frames_do_not_take_a_count, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_frames_may_come_one_drain_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_has_no_room_is_counted, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

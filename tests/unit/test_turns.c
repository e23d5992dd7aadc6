/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Whoever has thousands in the queue holds up nobody but himself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/process/turns.h"

static struct turn jobs[64];

static void add(struct turns *t, int from, int to, uid_t user)
{
	for (int i = from; i < to; i++) {
		jobs[i].user = user;
		assert_int_equal(turns_add(t, &jobs[i]), 0);
	}
}

static void users_take_turns(void **state)
{
	static const int order[] = {0, 10, 20, 1, 11, 2, 12, 3, 4};
	struct turns *t = turns_new(100, 100);

	(void)state;
	assert_non_null(t);
	add(t, 0, 5, 1000);
	add(t, 10, 13, 0);
	add(t, 20, 21, 1001);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_int_equal(turns_count(t), 9 - i);
		assert_ptr_equal(turns_take(t, NULL, NULL), &jobs[order[i]]);
	}
	assert_null(turns_take(t, NULL, NULL));
	assert_int_equal(turns_count(t), 0);
	turns_free(t);
}

static bool is_not(void *arg, const struct turn *job)
{
	return job->user != *(uid_t *)arg;
}

/* Who has to wait is passed over, and has his turn when he need not. */
static void who_waits_is_passed_over(void **state)
{
	struct turns *t = turns_new(100, 100);
	uid_t waits = 1000;

	(void)state;
	assert_non_null(t);
	add(t, 0, 2, 1000);
	add(t, 10, 12, 0);
	assert_ptr_equal(turns_take(t, is_not, &waits), &jobs[10]);
	assert_ptr_equal(turns_take(t, is_not, &waits), &jobs[11]);
	assert_null(turns_take(t, is_not, &waits));
	add(t, 12, 13, 0);
	waits = 1;
	assert_ptr_equal(turns_take(t, is_not, &waits), &jobs[0]);
	assert_ptr_equal(turns_take(t, is_not, &waits), &jobs[12]);
	assert_ptr_equal(turns_take(t, is_not, &waits), &jobs[1]);
	turns_free(t);
}

static void each_has_so_many(void **state)
{
	struct turns *t = turns_new(3, 5);

	(void)state;
	assert_non_null(t);
	add(t, 0, 3, 1000);
	jobs[3].user = 1000;
	assert_int_equal(turns_add(t, &jobs[3]), -EAGAIN);
	add(t, 10, 12, 0);
	jobs[12].user = 0;
	assert_int_equal(turns_add(t, &jobs[12]), -EAGAIN);
	assert_ptr_equal(turns_take(t, NULL, NULL), &jobs[0]);
	add(t, 3, 4, 1000);
	while (turns_take(t, NULL, NULL))
		;
	turns_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_take_turns),
		cmocka_unit_test(who_waits_is_passed_over),
		cmocka_unit_test(each_has_so_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

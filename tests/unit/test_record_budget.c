/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One process that has records without end takes none of the others'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/process/record_budget.h"
#include "collect/process/user_share.h"

static unsigned looked_up;

static int each_is_a_user(pid_t pid, uid_t *ret)
{
	*ret = (uid_t)pid;
	return 0;
}

/* Of a thousand processes each; the first ones are nobody's any more. */
static int read_user(pid_t pid, uid_t *ret)
{
	looked_up++;
	if (pid < 1000)
		return -1;
	*ret = (uid_t)pid / 1000;
	return 0;
}

static void test_each_has_its_own(void **state)
{
	struct record_budget *b = record_budget_new(read_user);
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

/* Past those that are told of, none is taken for another: one that goes on hides no other's end. */
static void test_all_of_many_are_counted(void **state)
{
	struct record_budget *b = record_budget_new(each_is_a_user);
	uint64_t now = 5 * RECORD_BUDGET_NS, left_out, sum = 0, unnamed = 0;
	pid_t pid;

	(void)state;
	for (pid_t one = 1; one <= 400; one++)
		for (int i = 0; i < RECORD_BUDGET + 1; i++)
			record_budget_take(b, one, now);
	now += RECORD_BUDGET_NS;
	for (int i = 0; i < RECORD_BUDGET + 1; i++)
		record_budget_take(b, 400, now);
	while (record_budget_calmed(b, now, &pid, &left_out)) {
		assert_true(pid && left_out == 1);
		sum++;
	}
	assert_int_equal(sum, 256);
	now += RECORD_BUDGET_NS;
	while (record_budget_calmed(b, now, &pid, &left_out)) {
		assert_int_equal(pid, 0);
		unnamed += left_out;
	}
	assert_int_equal(unnamed, 400 - 256 + 1);
	record_budget_free(b);
}

/* Returns how many records of a crowd were taken, of as many as each may have. */
static uint64_t take_crowd(struct record_budget *b, pid_t first, int count, uint64_t now)
{
	uint64_t taken = 0;

	for (int i = 0; i < RECORD_BUDGET; i++)
		for (pid_t pid = first; pid < first + count; pid++)
			taken += record_budget_take(b, pid, now);
	return taken;
}

static void test_a_crowd_has_what_its_user_has(void **state)
{
	struct record_budget *b = record_budget_new(read_user);
	uint64_t now = 5 * RECORD_BUDGET_NS, left_out, sum = 0;
	int told = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(take_crowd(b, 1000, 40, now), 40 * RECORD_FREE + USER_SHARE);
	/* Another user, one of whose processes is as busy as one may be, loses nothing by that. */
	assert_int_equal(take_crowd(b, 2000, 1, now), RECORD_BUDGET);
	/* Those of whom nobody knows whose they are have one share. */
	assert_int_equal(take_crowd(b, 10, 40, now), 40 * RECORD_FREE + USER_SHARE);
	/* What was left out is told of each process, and the next interval is new. */
	now += RECORD_BUDGET_NS;
	while (record_budget_calmed(b, now, &pid, &left_out)) {
		told++;
		sum += left_out;
	}
	assert_int_equal(told, 80);
	assert_int_equal(sum, 2 * (40 * (RECORD_BUDGET - RECORD_FREE) - USER_SHARE));
	assert_int_equal(take_crowd(b, 1000, 40, now), 40 * RECORD_FREE + USER_SHARE);
	record_budget_free(b);
}

/* Nor is it much that a user gets who makes new processes all the time. */
static void test_new_processes_without_end(void **state)
{
	struct record_budget *b = record_budget_new(read_user);
	uint64_t now = 5 * RECORD_BUDGET_NS, taken;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		taken = 0;
		for (pid_t pid = 1000; pid < 2000; pid++)
			for (int i = 0; i < 2 * RECORD_FREE; i++)
				taken += record_budget_take(b, pid, now);
		assert_int_equal(taken, 1000 * RECORD_FREE + USER_SHARE);
		for (pid_t pid = 3000; pid < 3000 + (RECORD_FREE_ALL / RECORD_FREE - 1000); pid++)
			for (int i = 0; i < RECORD_FREE; i++)
				assert_true(record_budget_take(b, pid, now));
		/* Nothing is free any more: his have no share left, another's have all of theirs.
		 */
		for (pid_t pid = 1000; pid < 2000; pid++)
			assert_false(record_budget_take(b, pid, now));
		assert_int_equal(take_crowd(b, 2000, 1, now), RECORD_BUDGET);
		now += RECORD_BUDGET_NS;
	}
	record_budget_free(b);
}

/* Nor does the reading take long: so many are read in an interval, the others have one share. */
static void test_so_many_users_are_read(void **state)
{
	struct record_budget *b = record_budget_new(read_user);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	looked_up = 0;
	for (pid_t pid = 1000; pid < 1000 + RECORD_FREE_ALL / RECORD_FREE; pid++)
		for (int i = 0; i < RECORD_FREE; i++)
			assert_true(record_budget_take(b, pid, now));
	assert_int_equal(looked_up, 0);
	for (pid_t pid = 10000; pid < 10100 + USER_SHARE_LOOKUP; pid++)
		assert_true(record_budget_take(b, pid, now));
	assert_int_equal(looked_up, USER_SHARE_LOOKUP);
	record_budget_free(b);
}

/* Whoever has processes that are gone at once pays for them, however they came of one another. */
static void test_gone_processes_are_their_makers(void **state)
{
	struct record_budget *b = record_budget_new(read_user);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	for (pid_t pid = 10; pid < 40; pid++)
		record_budget_note_fork(b, pid, 1000, now);
	for (pid_t pid = 40; pid < 50; pid++)
		record_budget_note_fork(b, pid, pid - 1, now);
	record_budget_note_fork(b, 60, 1000, now);
	assert_int_equal(take_crowd(b, 10, 40, now), 40 * RECORD_FREE + USER_SHARE);
	assert_int_equal(take_crowd(b, 1000, 1, now), RECORD_FREE);
	/* Those of whom nothing is known lose nothing by that. */
	assert_int_equal(take_crowd(b, 500, 1, now), RECORD_BUDGET);
	/* In the next interval they are still known, and so are those that come of them. */
	now += RECORD_BUDGET_NS;
	record_budget_note_fork(b, 50, 49, now);
	assert_int_equal(take_crowd(b, 41, 10, now), 10 * RECORD_FREE + USER_SHARE);
	assert_int_equal(take_crowd(b, 60, 1, now), RECORD_FREE);
	assert_int_equal(take_crowd(b, 1000, 1, now), RECORD_FREE);
	assert_int_equal(take_crowd(b, 500, 1, now), RECORD_BUDGET);
	record_budget_free(b);
}

static uid_t user_of_one;
static bool one_is_gone;

/* Two live: one who may be gone, and be somebody else's, and one of the user 7. */
static int read_one(pid_t pid, uid_t *ret)
{
	looked_up++;
	if (pid > 2 || (pid == 1 && one_is_gone))
		return -1;
	*ret = pid == 1 ? user_of_one : 7;
	return 0;
}

/* Nobody has his charged to root, by a program that is root's and makes processes for him. */
static void test_gone_processes_are_not_roots(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	user_of_one = 0;
	for (pid_t pid = 10; pid < 50; pid++)
		record_budget_note_fork(b, pid, 1, now);
	assert_int_equal(take_crowd(b, 10, 40, now), 40 * RECORD_FREE + USER_SHARE);
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_BUDGET);
	record_budget_free(b);
}

/* Nor does who gets a number that another had pay for him. */
static void test_a_number_is_anothers(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	user_of_one = 7;
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_BUDGET);
	for (pid_t pid = 10; pid < 50; pid++)
		record_budget_note_fork(b, pid, 2, now);
	take_crowd(b, 10, 40, now);
	user_of_one = 8;
	record_budget_note_fork(b, 1, 3, now);
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_BUDGET);
	record_budget_free(b);
}

/* Nor who gets the number of one that made others, for these. */
static void test_a_makers_number_is_anothers(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	user_of_one = 8;
	for (pid_t pid = 10; pid < 30; pid++)
		record_budget_note_fork(b, pid, 1, now);
	for (pid_t pid = 30; pid < 50; pid++)
		record_budget_note_fork(b, pid, pid - 20, now);
	now += RECORD_BUDGET_NS;
	record_budget_note_fork(b, 1, 3, now);
	assert_int_equal(take_crowd(b, 10, 40, now), 40 * RECORD_FREE + USER_SHARE);
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_BUDGET);
	/* What he makes himself is his. */
	record_budget_note_fork(b, 60, 1, now);
	record_budget_note_fork(b, 61, 1, now);
	assert_int_equal(take_crowd(b, 60, 2, now), USER_SHARE - RECORD_BUDGET + 3 * RECORD_FREE);
	record_budget_free(b);
}

/* Of more forks than are known anybody may have got any number. */
static void test_more_forks_than_are_known(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	user_of_one = 8;
	for (pid_t pid = 10; pid < 100000; pid++)
		record_budget_note_fork(b, pid, 1, now);
	take_crowd(b, 10, 40, now);
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_BUDGET);
	/* That is over when these are forgotten. */
	now += 2 * RECORD_BUDGET_NS;
	record_budget_take(b, 1, now);
	now += RECORD_BUDGET_NS;
	for (pid_t pid = 10; pid < 50; pid++)
		record_budget_note_fork(b, pid, 1, now);
	take_crowd(b, 10, 40, now);
	assert_int_equal(take_crowd(b, 1, 1, now), RECORD_FREE);
	record_budget_free(b);
}

/* Whose a process is that is gone is known as long as some that come of it may be. */
static void test_who_made_them_is_gone_too(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	user_of_one = 7;
	record_budget_note_fork(b, 9, 1, now);
	assert_int_equal(take_crowd(b, 9, 1, now), RECORD_BUDGET);
	one_is_gone = true;
	now += RECORD_BUDGET_NS;
	for (pid_t pid = 10; pid < 50; pid++)
		record_budget_note_fork(b, pid, 9, now);
	assert_int_equal(take_crowd(b, 10, 40, now), 40 * RECORD_FREE + USER_SHARE);
	assert_int_equal(take_crowd(b, 2, 1, now), RECORD_FREE);
	one_is_gone = false;
	record_budget_free(b);
}

/* To look for who made them does not take long either. */
static void test_so_many_ancestors_are_read(void **state)
{
	struct record_budget *b = record_budget_new(read_one);
	uint64_t now = 5 * RECORD_BUDGET_NS;

	(void)state;
	looked_up = 0;
	for (pid_t pid = 1000; pid < 1000 + RECORD_FREE_ALL / RECORD_FREE; pid++)
		for (int i = 0; i < RECORD_FREE; i++)
			assert_true(record_budget_take(b, pid, now));
	for (pid_t pid = 10000; pid < 10000 + USER_SHARE_LOOKUP; pid++) {
		record_budget_note_fork(b, pid, pid + 100000, now);
		assert_true(record_budget_take(b, pid, now));
	}
	assert_int_equal(looked_up, USER_SHARE_LOOKUP);
	record_budget_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_its_own),
		cmocka_unit_test(test_all_of_many_are_counted),
		cmocka_unit_test(test_a_crowd_has_what_its_user_has),
		cmocka_unit_test(test_new_processes_without_end),
		cmocka_unit_test(test_so_many_users_are_read),
		cmocka_unit_test(test_gone_processes_are_their_makers),
		cmocka_unit_test(test_gone_processes_are_not_roots),
		cmocka_unit_test(test_a_number_is_anothers),
		cmocka_unit_test(test_a_makers_number_is_anothers),
		cmocka_unit_test(test_more_forks_than_are_known),
		cmocka_unit_test(test_who_made_them_is_gone_too),
		cmocka_unit_test(test_so_many_ancestors_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

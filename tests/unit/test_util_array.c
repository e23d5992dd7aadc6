/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include "util/array.h"

/* The address sanitizer else ends a program that asks for so much. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void entries_stay_as_it_grows(void **state)
{
	uint32_t *list = NULL;
	size_t room = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(array_grow(&list, i, &room, sizeof(*list), 3), 0);
		assert_true(room > i);
		list[i] = i;
	}
	assert_int_equal(room, 3 * 512);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	free(list);
}

static void without_memory_it_stays_as_it_was(void **state)
{
	char *list = malloc(1);
	void *before = list;
	size_t room = 1;

	(void)state;
	assert_non_null(list);
	*list = 'x';
	assert_int_equal(array_grow(&list, 1, &room, SIZE_MAX / 2, 1), -ENOMEM);
	assert_ptr_equal(list, before);
	assert_int_equal(*list, 'x');
	assert_int_equal(room, 1);
	/* Nor is any taken while there is room. */
	assert_int_equal(array_grow(&list, 0, &room, SIZE_MAX / 2, 1), 0);
	free(list);
}

static void it_reserves_for_all_that_are_needed(void **state)
{
	uint32_t *list = NULL;
	size_t room = 0;

	(void)state;
	assert_int_equal(array_reserve(&list, 0, &room, sizeof(*list), 3), 0);
	assert_null(list);
	assert_int_equal(array_reserve(&list, 7, &room, sizeof(*list), 3), 0);
	assert_int_equal(room, 12);
	list[6] = 6;
	assert_int_equal(array_reserve(&list, SIZE_MAX, &room, 1, 3), -ENOMEM);
	assert_int_equal(array_reserve(&list, 12, &room, sizeof(*list), 3), 0);
	assert_int_equal(room, 12);
	assert_int_equal(list[6], 6);
	free(list);
}

static void what_is_reserved_zeroed_is_zeros(void **state)
{
	uint64_t *list = NULL;
	size_t room = 0;

	(void)state;
	for (size_t i = 1; i <= 1000; i++) {
		assert_int_equal(array_reserve_zeroed(&list, i, &room, sizeof(*list), 1), 0);
		assert_int_equal(list[i - 1], 0);
		list[room - 1] = 0;
		list[i - 1] = i;
	}
	for (size_t i = 1; i <= 1000; i++)
		assert_int_equal(list[i - 1], i);
	free(list);
}

static void entries_of_no_bytes_are_no_error(void **state)
{
	char *list = NULL;
	size_t room = 0;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(array_grow(&list, i, &room, 0, 1), 0);
	assert_non_null(list);
	free(list);
}

/* The address sanitizer sees a write beyond the end. */
static void a_short_array_needs_no_room_of_its_own(void **state)
{
	uint32_t *list = NULL;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(array_grow_short(&list, i, sizeof(*list)), 0);
		list[i] = i;
	}
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(list[i], i);
	/* Nor when some are taken off. */
	for (uint32_t i = 5; i < 80; i++) {
		assert_int_equal(array_grow_short(&list, i, sizeof(*list)), 0);
		list[i] = 2 * i;
	}
	for (uint32_t i = 0; i < 80; i++)
		assert_int_equal(list[i], i < 5 ? i : 2 * i);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_stay_as_it_grows),
		cmocka_unit_test(without_memory_it_stays_as_it_was),
		cmocka_unit_test(it_reserves_for_all_that_are_needed),
		cmocka_unit_test(what_is_reserved_zeroed_is_zeros),
		cmocka_unit_test(entries_of_no_bytes_are_no_error),
		cmocka_unit_test(a_short_array_needs_no_room_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

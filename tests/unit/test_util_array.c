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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_stay_as_it_grows),
		cmocka_unit_test(without_memory_it_stays_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

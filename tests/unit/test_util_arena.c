/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/arena.h"

static void memory_is_zeroed_and_aligned(void **state)
{
	struct arena *a = arena_new(SIZE_MAX);

	(void)state;
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *p = arena_alloc(a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xaa, size);
		assert_string_equal(arena_strndup(a, "odd", 3), "odd");
	}
	arena_free(a);
	arena_free(NULL);
}

static void pieces_do_not_overlap(void **state)
{
	struct arena *a = arena_new(SIZE_MAX);
	unsigned char *p[200];

	(void)state;
	for (int i = 0; i < 200; i++) {
		p[i] = arena_alloc(a, i % 10 ? 100 : 20000);
		memset(p[i], i, i % 10 ? 100 : 20000);
	}
	for (int i = 0; i < 200; i++) {
		for (int j = 0; j < (i % 10 ? 100 : 20000); j++)
			assert_int_equal(p[i][j], i);
	}
	arena_free(a);
}

static void maximum_holds(void **state)
{
	struct arena *a = arena_new(100);

	(void)state;
	assert_non_null(arena_alloc(a, 60));
	assert_null(arena_alloc(a, 41));
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_strndup(a, "", SIZE_MAX));
	assert_non_null(arena_alloc(a, 40));
	assert_null(arena_strndup(a, "", 0));
	assert_null(arena_printf(a, "x"));
	arena_free(a);
}

static void huge_request_fails_cleanly(void **state)
{
	struct arena *a = arena_new(SIZE_MAX);

	(void)state;
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_alloc(a, SIZE_MAX - 8));
	assert_non_null(arena_alloc(a, 16));
	arena_free(a);
}

static void strings_are_copied(void **state)
{
	struct arena *a = arena_new(SIZE_MAX);
	char *s;

	(void)state;
	s = arena_strndup(a, "a\0b", 3);
	assert_memory_equal(s, "a\0b\0", 4);
	assert_string_equal(arena_strndup(a, NULL, 0), "");
	assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(pieces_do_not_overlap),
		cmocka_unit_test(maximum_holds),
		cmocka_unit_test(huge_request_fails_cleanly),
		cmocka_unit_test(strings_are_copied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "util/hash.h"

static void interns_equal_bytes_once(void **state)
{
	struct intern *t = intern_new(100000);
	char name[32];
	uint32_t index;
	size_t size;

	(void)state;
	assert_int_equal(intern_find(t, "x", 1, &index), -ENOENT);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 20000; i++) {
			snprintf(name, sizeof(name), "name %u", i);
			assert_int_equal(intern_add(t, name, strlen(name), &index), 0);
			assert_int_equal(index, i);
		}
	}
	assert_int_equal(intern_count(t), 20000);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal((uintptr_t)intern_get(t, i, &size) % 16, 0);
	assert_string_equal(intern_get(t, 19999, &size), "name 19999");
	assert_int_equal(size, 10);
	assert_null(intern_get(t, 20000, &size));
	intern_free(t);
	intern_free(NULL);
}

static void interns_zero_bytes_and_nothing(void **state)
{
	struct intern *t = intern_new(10);
	uint32_t index;
	size_t size;

	(void)state;
	assert_int_equal(intern_add(t, "a\0b", 3, &index), 0);
	assert_int_equal(intern_add(t, "a\0c", 3, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(intern_add(t, "", 0, &index), 0);
	assert_int_equal(intern_add(t, NULL, 0, &index), 0);
	assert_int_equal(index, 2);
	assert_memory_equal(intern_get(t, 1, &size), "a\0c", 4);
	assert_int_equal(size, 3);
	intern_free(t);
}

static void intern_maximum_holds(void **state)
{
	struct intern *t = intern_new(2);
	uint32_t index = 99;

	(void)state;
	assert_int_equal(intern_add(t, "a", 1, &index), 0);
	assert_int_equal(intern_add(t, "b", 1, &index), 0);
	index = 99;
	assert_int_equal(intern_add(t, "c", 1, &index), -ENOSPC);
	assert_int_equal(index, 99);
	assert_int_equal(intern_add(t, "a", 1, &index), 0);
	assert_int_equal(index, 0);
	intern_free(t);
}

/* Against an array, with keys so close together that probes run into each other and wrap. */
static void map_agrees_with_an_array(void **state)
{
	enum { KEYS = 1500 };
	struct map64 *m = map64_new(KEYS);
	uint64_t want[KEYS] = {0}, value, random = 1;
	size_t count = 0;

	(void)state;
	for (int step = 0; step < 200000; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		uint64_t key = (random >> 33) % KEYS;

		if (random >> 63) {
			assert_int_equal(map64_put(m, key, random | 1), 0);
			count += !want[key];
			want[key] = random | 1;
		} else {
			assert_int_equal(map64_remove(m, key), want[key] ? 0 : -ENOENT);
			count -= !!want[key];
			want[key] = 0;
		}
		key = (random >> 20) % KEYS;
		assert_int_equal(map64_get(m, key, &value), want[key] ? 0 : -ENOENT);
		if (want[key])
			assert_true(value == want[key]);
		assert_int_equal(map64_count(m), count);
	}
	map64_free(m);
	map64_free(NULL);
}

static void map_limits(void **state)
{
	struct map64 *m = map64_new(2);
	uint64_t value = 5;

	(void)state;
	assert_int_equal(map64_remove(m, 1), -ENOENT);
	assert_int_equal(map64_get(m, 1, &value), -ENOENT);
	assert_int_equal(map64_put(m, UINT64_MAX, 1), -EINVAL);
	assert_int_equal(map64_get(m, UINT64_MAX, &value), -ENOENT);
	assert_int_equal(map64_put(m, UINT64_MAX - 1, 1), 0);
	assert_int_equal(map64_put(m, 0, 2), 0);
	assert_int_equal(map64_put(m, 3, 3), -ENOSPC);
	assert_int_equal(map64_put(m, 0, UINT64_MAX), 0);
	assert_int_equal(map64_get(m, 0, &value), 0);
	assert_true(value == UINT64_MAX);
	map64_free(m);
}

static void add_up(uint64_t key, uint64_t value, void *arg)
{
	*(uint64_t *)arg += key * value;
}

static void map_each_sees_all(void **state)
{
	struct map64 *m = map64_new(100);
	uint64_t sum = 0;

	(void)state;
	map64_each(m, add_up, &sum);
	for (uint64_t i = 1; i <= 100; i++)
		map64_put(m, i, 2);
	map64_each(m, add_up, &sum);
	assert_int_equal(sum, 10100);
	map64_free(m);
}

static void hashes_differ(void **state)
{
	(void)state;
	assert_true(hash_u64(1) != hash_u64(2));
	assert_true(hash_bytes("a", 1) != hash_bytes("b", 1));
	assert_true(hash_bytes("a", 1) == hash_bytes("ab", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interns_equal_bytes_once),
		cmocka_unit_test(interns_zero_bytes_and_nothing),
		cmocka_unit_test(intern_maximum_holds),
		cmocka_unit_test(map_agrees_with_an_array),
		cmocka_unit_test(map_limits),
		cmocka_unit_test(map_each_sees_all),
		cmocka_unit_test(hashes_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

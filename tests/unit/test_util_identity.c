/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/identity.h"

static void ids_come_back(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind <= UINT8_MAX; kind++) {
		for (uint8_t size = 0; size <= IMAGE_ID_MAX; size += 10) {
			struct image_id id = {.kind = (uint8_t)kind, .size = size}, back;
			char text[IMAGE_ID_TEXT_MAX];

			memset(id.bytes, 0xa5, size);
			memset(&back, 0xff, sizeof(back));
			image_id_format(&id, text);
			assert_int_equal(image_id_parse(text, &back), 0);
			assert_memory_equal(&id, &back, sizeof(id));
		}
	}
}

static void id_texts(void **state)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {0xb1, 0x94}};
	char text[IMAGE_ID_TEXT_MAX];

	(void)state;
	image_id_format(&id, text);
	assert_string_equal(text, "b194");
	id.kind = IMAGE_JIT;
	image_id_format(&id, text);
	assert_string_equal(text, "jit-b194");
	id.size = 255; /* hostile */
	image_id_format(&id, text);
	assert_int_equal(strlen(text), 4 + 2 * IMAGE_ID_MAX);
}

static void bad_ids_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",	      "b",     "xy",	  "B1",
		"b1 ",	      "jit-b", "none-b1", "kind1-00",
		"kind256-00", "kind-", "kind9",	  "000102030405060708090a0b0c0d0e0f1011121314",
	};
	struct image_id id;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(image_id_parse(wrong[i], &id), -EINVAL);
}

#define PAIR(k, v)                                 \
	{                                          \
		k, v, sizeof(k) - 1, sizeof(v) - 1 \
	}

static void subjects_are_canonical(void **state)
{
	struct subject_pair one[] = {PAIR("pid", "7"), PAIR("comm", "a"), PAIR("comma", "")};
	struct subject_pair two[] = {PAIR("comma", ""), PAIR("pid", "7"), PAIR("comm", "a")};
	char a[100], b[100];
	struct subject_pair p;
	size_t at = 0, size;
	long n;

	(void)state;
	n = subject_build(one, 3, a, sizeof(a));
	assert_int_equal(n, 1 + 3 + 1 + 1 + 1 + 4 + 1 + 1 + 1 + 5 + 1);
	assert_int_equal(subject_build(two, 3, b, sizeof(b)), n);
	assert_memory_equal(a, b, (size_t)n);
	assert_true(subject_next(a, (size_t)n, &at, &p));
	assert_memory_equal(p.key, "comm", 4);
	assert_true(subject_next(a, (size_t)n, &at, &p));
	assert_true(subject_next(a, (size_t)n, &at, &p));
	assert_memory_equal(p.value, "7", 1);
	assert_false(subject_next(a, (size_t)n, &at, &p));
	assert_memory_equal(subject_get(a, (size_t)n, "pid", &size), "7", 1);
	assert_int_equal(size, 1);
	assert_non_null(subject_get(a, (size_t)n, "comma", &size));
	assert_int_equal(size, 0);
	assert_null(subject_get(a, (size_t)n, "com", &size));
}

static void subjects_have_limits(void **state)
{
	static char big[SUBJECT_MAX_BYTES + 1];
	struct subject_pair twice[] = {PAIR("a", "1"), PAIR("b", "2"), PAIR("a", "3")};
	struct subject_pair nameless[] = {PAIR("", "1")};
	struct subject_pair fits[] = {PAIR("k", "v")};
	struct subject_pair many[SUBJECT_MAX_PAIRS + 1] = {0};
	struct subject_pair long_one[] = {{"k", big, 1, sizeof(big)}};
	char out[2 * SUBJECT_MAX_BYTES];

	(void)state;
	assert_int_equal(subject_build(twice, 3, out, sizeof(out)), -EINVAL);
	assert_int_equal(subject_build(nameless, 1, out, sizeof(out)), -EINVAL);
	assert_int_equal(subject_build(many, SUBJECT_MAX_PAIRS + 1, out, sizeof(out)), -EFBIG);
	assert_int_equal(subject_build(long_one, 1, out, sizeof(out)), -EFBIG);
	assert_int_equal(subject_build(fits, 1, out, 3), -EFBIG);
	assert_int_equal(subject_build(fits, 1, out, 4), 4);
	assert_int_equal(subject_build(NULL, 0, out, 0), 0);
}

static void hostile_subjects_end(void **state)
{
	static const char *const wrong[] = {"\x05"
					    "ab",
					    "\x01"
					    "a",
					    "\x01"
					    "a\x09"
					    "b",
					    "\xff\xff"};
	struct subject_pair p;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		size_t at = 0;

		assert_false(subject_next(wrong[i], strlen(wrong[i]), &at, &p));
		assert_null(subject_get(wrong[i], strlen(wrong[i]), "a", NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_come_back),	cmocka_unit_test(id_texts),
		cmocka_unit_test(bad_ids_are_refused),	cmocka_unit_test(subjects_are_canonical),
		cmocka_unit_test(subjects_have_limits), cmocka_unit_test(hostile_subjects_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

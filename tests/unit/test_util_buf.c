/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/buf.h"

static void numbers_come_back(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
	size_t count = sizeof(values) / sizeof(values[0]), size;
	struct cursor c;
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	for (size_t i = 0; i < count; i++)
		buf_append_varint(&b, values[i]);
	buf_append_u8(&b, 0xfe);
	buf_append_u32(&b, 0x01020304);
	buf_append_u64(&b, UINT64_MAX - 1);
	buf_append_string(&b, "hello", 5);
	buf_printf(&b, "%d", 42);
	assert_int_equal(b.error, 0);
	c = cursor_over(b.data, b.size);
	for (size_t i = 0; i < count; i++)
		assert_true(cursor_varint(&c) == values[i]);
	assert_int_equal(cursor_u8(&c), 0xfe);
	assert_int_equal(*c.at, 4); /* little endian */
	assert_int_equal(cursor_u32(&c), 0x01020304);
	assert_true(cursor_u64(&c) == UINT64_MAX - 1);
	assert_memory_equal(cursor_string(&c, 5, &size), "hello", 5);
	assert_int_equal(size, 5);
	assert_memory_equal(cursor_bytes(&c, 2), "42", 2);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(c.error, 0);
	buf_free(&b);
	buf_free(&b);
	buf_free(NULL);
}

static void maximum_holds_and_sticks(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(buf_append(&b, "0123456789", 10), 0);
	assert_int_equal(buf_append_u8(&b, 1), -EFBIG);
	assert_int_equal(buf_append(&b, "", 0), -EFBIG);
	assert_int_equal(buf_printf(&b, "x"), -EFBIG);
	assert_null(buf_reserve(&b, 0));
	assert_int_equal(b.size, 10);
	buf_clear(&b);
	assert_int_equal(buf_append_u8(&b, 1), 0);
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_int_equal(b.error, -EFBIG);
	buf_free(&b);
}

static void reserve_gives_memory_for_nothing(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 0);
	assert_non_null(buf_reserve(&b, 0));
	assert_int_equal(buf_append(&b, NULL, 0), 0);
	assert_int_equal(b.size, 0);
	buf_free(&b);
}

static void check_bad_varint(const void *bytes, size_t size)
{
	struct cursor c = cursor_over(bytes, size);

	assert_true(cursor_varint(&c) == 0);
	assert_int_equal(c.error, -EBADMSG);
	assert_true(c.at <= c.end);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_varint(&c), 0);
	assert_int_equal(c.error, -EBADMSG);
}

static void hostile_varints_are_refused(void **state)
{
	(void)state;
	check_bad_varint("", 0);
	check_bad_varint("\x80", 1);
	check_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10); /* 65 bits */
	check_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	check_bad_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12);
}

static void hostile_strings_are_refused(void **state)
{
	struct cursor c;
	size_t size = 77;

	(void)state;
	c = cursor_over("\x05"
			"abcd",
			5);
	assert_null(cursor_string(&c, 100, &size));
	assert_int_equal(c.error, -EBADMSG);
	c = cursor_over("\x04"
			"abcd",
			5);
	assert_null(cursor_string(&c, 3, &size));
	assert_int_equal(c.error, -EBADMSG);
	c = cursor_over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	assert_null(cursor_string(&c, SIZE_MAX, &size));
	assert_int_equal(c.error, -EBADMSG);
	assert_int_equal(size, 77);
}

static void reading_past_the_end_gives_zeroes(void **state)
{
	struct cursor c = cursor_over("abc", 3);

	(void)state;
	assert_int_equal(cursor_u32(&c), 0);
	assert_int_equal(c.error, -EBADMSG);
	assert_null(cursor_bytes(&c, 0));
	assert_int_equal(cursor_u8(&c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(maximum_holds_and_sticks),
		cmocka_unit_test(reserve_gives_memory_for_nothing),
		cmocka_unit_test(hostile_varints_are_refused),
		cmocka_unit_test(hostile_strings_are_refused),
		cmocka_unit_test(reading_past_the_end_gives_zeroes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

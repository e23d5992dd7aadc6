/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/diag.h"

static void fails_with_the_errno(void **state)
{
	struct diag d;

	(void)state;
	assert_int_equal(diag_fail(&d, EINVAL, "%s: %d", "x", 3), -EINVAL);
	assert_string_equal(d.text, "x: 3");
	assert_int_equal(diag_fail(NULL, ENOENT, "nobody asks"), -ENOENT);
}

static void stays_one_line(void **state)
{
	struct diag d;

	(void)state;
	diag_fail(&d, EIO, "%s", "a\n\x1b[31mb\\");
	assert_string_equal(d.text, "a\\n\\x1b[31mb\\");
}

static void wraps_itself(void **state)
{
	struct diag d;

	(void)state;
	diag_fail(&d, EIO, "inner");
	diag_fail(&d, EIO, "outer: %s", d.text);
	assert_string_equal(d.text, "outer: inner");
}

static void overlong_text_keeps_both_ends(void **state)
{
	static const char wrong[] = "' is no event";
	char name[5000];
	struct diag d;

	(void)state;
	memset(name, 1, sizeof(name));
	name[sizeof(name) - 1] = 0;
	diag_fail(&d, EIO, "event '%s%s", name, wrong);
	assert_true(strlen(d.text) < sizeof(d.text));
	assert_true(strlen(d.text) > sizeof(d.text) - 12);
	assert_non_null(strstr(d.text, "\\x01...\\x01"));
	assert_memory_equal(d.text, "event '\\x01", 11);
	assert_string_equal(d.text + strlen(d.text) - strlen(wrong), wrong);
	/* One that just fits is left alone. */
	name[sizeof(d.text) - 1] = 0;
	memset(name, 'a', sizeof(d.text) - 1);
	diag_fail(&d, EIO, "%s", name);
	assert_string_equal(d.text, name);
}

static void overlong_text_splits_no_character(void **state)
{
	char name[3002];
	struct diag d;

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 2; i += 3)
		memcpy(name + i, "\u20ac", 3);
	name[sizeof(name) - 2] = 0;
	for (int shift = 0; shift < 3; shift++) {
		diag_fail(&d, EIO, "%.*s%s", shift, "ab", name);
		assert_null(strstr(d.text, "\\x"));
		assert_non_null(strstr(d.text, "\u20ac...\u20ac"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fails_with_the_errno),
		cmocka_unit_test(stays_one_line),
		cmocka_unit_test(wraps_itself),
		cmocka_unit_test(overlong_text_keeps_both_ends),
		cmocka_unit_test(overlong_text_splits_no_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "util/text.h"

static void check_escape(const char *name, const char *want)
{
	char out[256];

	assert_int_equal(text_escape(out, sizeof(out), name, strlen(name)), strlen(want));
	assert_string_equal(out, want);
}

static void escapes_what_is_not_printable(void **state)
{
	(void)state;
	check_escape("", "");
	check_escape("plain name", "plain name");
	check_escape("a\nb\tc\\d", "a\\nb\\tc\\\\d");
	check_escape("\x1b[31m\x7f\r", "\\x1b[31m\\x7f\\x0d");
	check_escape("naïve 日本 é", "naïve 日本 é");
	check_escape("\xc2\x9b"
		     "31m",
		     "\\xc2\\x9b31m");				  /* C1 control */
	check_escape("\xff\xc3", "\\xff\\xc3");			  /* invalid, truncated */
	check_escape("\xc0\xaf", "\\xc0\\xaf");			  /* overlong */
	check_escape("\xe0\x80\xaf", "\\xe0\\x80\\xaf");	  /* overlong */
	check_escape("\xed\xa0\x80", "\\xed\\xa0\\x80");	  /* surrogate */
	check_escape("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
	check_escape("\xe2\x80\xae"
		     "txt",
		     "\\xe2\\x80\\xaetxt");			  /* right-to-left override */
	check_escape("\xe2\x81\xa6", "\\xe2\\x81\\xa6");	  /* isolate */
	check_escape("\xe2\x80\x8b", "\\xe2\\x80\\x8b");	  /* zero width space */
	check_escape("\xef\xbb\xbf", "\\xef\\xbb\\xbf");	  /* byte order mark */
	check_escape("\xe2\x80\xa8", "\\xe2\\x80\\xa8");	  /* line separator */
	check_escape("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"); /* tag */
}

static void escapes_zero_bytes(void **state)
{
	char out[32];

	(void)state;
	text_escape(out, sizeof(out), "a\0b", 3);
	assert_string_equal(out, "a\\x00b");
}

/* A name that is plain, or begins so, is copied in one piece: cut at any byte all the same. */
static void cuts_plain_names(void **state)
{
	static const char *const names[] = {"plain", "plain\n", "plain\\n"};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t room = 1; room <= sizeof("plain"); room++) {
			memset(out, '!', sizeof(out));
			assert_int_equal(text_escape(out, room, names[i], strlen(names[i])),
					 strlen(names[i]) + (i > 0));
			assert_int_equal(strlen(out), room - 1);
			assert_memory_equal(out, "plain", room - 1);
			assert_int_equal(out[room], '!');
		}
	assert_int_equal(text_escape(NULL, 0, "plain", 5), 5);
	assert_int_equal(text_escape_controls(out, sizeof(out), "a\\b", 3), 3);
	assert_string_equal(out, "a\\b");
	assert_int_equal(text_width("plain"), 5);
	assert_int_equal(text_width("plain \xe6\x97\xa5"), 8);
}

static void never_splits(void **state)
{
	static const char name[] = "é\n\x01日\\";
	static const char whole[] = "é\\n\\x01日\\\\";
	/* Where a cut may be: after each piece. */
	static const size_t cuts[] = {0, 2, 4, 8, 11, 13};
	char out[32];

	(void)state;
	for (size_t room = 0; room < sizeof(out); room++) {
		size_t want = 0;

		for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
			if (cuts[i] < room)
				want = cuts[i];
		}
		memset(out, '!', sizeof(out));
		assert_int_equal(text_escape(out, room, name, strlen(name)), strlen(whole));
		if (room) {
			assert_int_equal(strlen(out), want);
			assert_memory_equal(out, whole, want);
		} else {
			assert_int_equal(out[0], '!');
		}
	}
}

static void controls_only(void **state)
{
	char out[64];

	(void)state;
	text_escape_controls(out, sizeof(out), "a\\x1b\n", 6);
	assert_string_equal(out, "a\\x1b\\n");
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("é"), 1);
	assert_int_equal(text_width("e\xcc\x81"), 1); /* combining accent */
	assert_int_equal(text_width("日本"), 4);
	assert_int_equal(text_width("\xff"), 1);
}

static void utf8(void **state)
{
	(void)state;
	assert_true(text_is_utf8("", 0));
	assert_true(text_is_utf8("é日\0", 6));
	assert_false(text_is_utf8("\xc3", 1));
	assert_false(text_is_utf8("a\x80", 2));
	assert_false(text_is_utf8("\xed\xbf\xbf", 3));
	assert_true(text_is_utf8("\xf4\x8f\xbf\xbf", 4));
}

static void globs_and_paths(void **state)
{
	(void)state;
	assert_true(text_match_glob("*libc*", "/usr/lib/libc.so.6"));
	assert_true(text_match_glob("*", ".hidden"));
	assert_false(text_match_glob("lib?", "libcc"));
	assert_true(text_match_glob("[ab]*", "b\xff"));
	assert_false(text_match_glob("[", "x"));
	assert_int_equal(text_undeleted_size("/a (deleted)", 12), 2);
	assert_int_equal(text_undeleted_size("/a (deleted)", 11), 11);
	assert_int_equal(text_undeleted_size(" (deleted)", 10), 10);
	assert_int_equal(text_undeleted_size("/a", 2), 2);
	assert_string_equal(text_base_name("/a/b"), "b");
	assert_string_equal(text_base_name("b"), "b");
	assert_string_equal(text_base_name(""), "");
	assert_string_equal(text_base_name("/"), "");
}

/* Zero takes the plural in English. */
static void counts_have_their_noun(void **state)
{
	(void)state;
	assert_string_equal(text_plural(1, "row is", "rows are"), "row is");
	assert_string_equal(text_plural(0, "row is", "rows are"), "rows are");
	assert_string_equal(text_plural(2, "row is", "rows are"), "rows are");
	assert_string_equal(text_plural((1ull << 32) + 1, "row is", "rows are"), "rows are");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_what_is_not_printable),
		cmocka_unit_test(escapes_zero_bytes),
		cmocka_unit_test(cuts_plain_names),
		cmocka_unit_test(never_splits),
		cmocka_unit_test(controls_only),
		cmocka_unit_test(widths),
		cmocka_unit_test(utf8),
		cmocka_unit_test(globs_and_paths),
		cmocka_unit_test(counts_have_their_noun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

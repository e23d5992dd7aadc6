/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names as they are written into texts with a syntax: they stay within their quotes, and no
 * terminal acts on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "render/dot.h"
#include "util/quote.h"

static const char hostile[] = "a\"b\\c<d>&e'f\n\x1b[31m\x7f\xff\xe2\x80\xae\xc2\x9b";

/* The buffer's text so far, which is taken out. */
static const char *text_of(struct buf *b)
{
	static char text[512];

	assert_int_equal(b->error, 0);
	assert_true(b->size < sizeof(text));
	memcpy(text, b->data, b->size);
	text[b->size] = 0;
	buf_clear(b);
	return text;
}

static void names_stay_within_their_quotes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	quote_json(&b, hostile);
	assert_string_equal(text_of(&b),
			    "\"a\\\"b\\\\c\\u003cd\\u003e\\u0026e'f\\\\n\\\\x1b[31m\\\\x7f\\\\xff"
			    "\\\\xe2\\\\x80\\\\xae\\\\xc2\\\\x9b\"");
	quote_xml(&b, "n", hostile);
	assert_string_equal(text_of(&b), " n=\"a&quot;b\\c&lt;d>&amp;e'f\\n\\x1b[31m\\x7f\\xff"
					 "\\xe2\\x80\\xae\\xc2\\x9b\"");
	assert_int_equal(quote_plain(&b, "ab", 2), 0);
	assert_int_equal(quote_plain(&b, hostile, strlen(hostile)), 2);
	assert_string_equal(text_of(&b), "aba\"b\\c<d>&e'f\\n\\x1b[31m\\x7f\\xff"
					 "\\xe2\\x80\\xae\\xc2\\x9b");
	quote_json(&b, "");
	quote_json(&b, "gr\xc3\xbc\xc3\x9f");
	assert_string_equal(text_of(&b), "\"\"\"gr\xc3\xbc\xc3\x9f\"");
	buf_free(&b);
}

static void what_does_not_fit_is_an_error(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	quote_json(&b, "longer than that");
	assert_int_not_equal(b.error, 0);
	buf_free(&b);
}

/* A name that would end the label and begin a node, or turn into another character. */
static void a_drawing_has_no_more_than_its_nodes(void **state)
{
	struct dot_node n = {.id = 7, .text = "x\"]; n8 [URL=\"http://h\\\n&#27;&lt;\x1b[31m"};
	struct buf b;
	const char *text;

	(void)state;
	buf_init(&b, 4096);
	dot_add_node(&b, &n);
	text = text_of(&b);
	assert_non_null(strstr(text, "n7 [label=\"x\\\"]; n8 [URL=\\\"http://h\\\\\\l"
				     "&amp;#27;&amp;lt;\\\\x1b[31m\""));
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_stay_within_their_quotes),
		cmocka_unit_test(what_does_not_fit_is_an_error),
		cmocka_unit_test(a_drawing_has_no_more_than_its_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

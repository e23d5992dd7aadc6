/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json_writer.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "render/json.h"

/* What somebody prints into a stream, freed by the caller. */
static char *printed(void (*print)(FILE *out, const void *arg), const void *arg)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out, arg);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void print_number_tree(FILE *out, const void *arg)
{
	assert_int_equal(
		report_json_print(json_pack("[o]", report_json_number(*(double *)arg)), 0, out), 0);
}

static void print_number(FILE *out, const void *arg)
{
	struct json_writer w;

	json_writer_init(&w, 1 << 20);
	json_writer_open(&w, NULL, '[');
	json_writer_number(&w, NULL, *(double *)arg);
	json_writer_close(&w, ']');
	assert_int_equal(json_writer_end(&w, out), 0);
}

static void compare_numbers(double value)
{
	char *tree = printed(print_number_tree, &value), *mine = printed(print_number, &value);

	assert_string_equal(mine, tree);
	free(tree);
	free(mine);
}

/* Character for character what jansson writes. */
static void test_numbers(void **state)
{
	static const double some[] = {
		0,	    -0.0,   1,	      -1,	 0.5,  1e9,    999999999,  1e8,
		4294967296, 1e15,   1.5e300,  -2.5e-300, 1e-5, 0.0001, 123456.789, 1234567890.5,
		1e100,	    5e-324, INFINITY, -INFINITY, NAN,  3e-9,   0.1 + 0.2,  1e10};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		compare_numbers(some[i]);
	for (int i = 0; i < 3000; i++) {
		double value;

		random = random * 6364136223846793005u + 1442695040888963407u;
		memcpy(&value, &random, sizeof(value));
		compare_numbers(value);
		compare_numbers((double)(random >> 34));
		compare_numbers((double)(random >> 44) / 1000);
	}
}

static void print_tree(FILE *out, const void *arg)
{
	json_t *tree =
		json_pack("{s:o, s:o, s:o, s:b, s:[o, o], s:{}, s:[]}", "text",
			  report_json_text(arg), "count", report_json_count(UINT64_MAX), "address",
			  report_json_address(0), "yes", 1, "list", report_json_count(0),
			  report_json_address(0xdeadbeef12345678), "empty", "none");

	assert_int_equal(report_json_print(tree, 0, out), 0);
}

static void print_written(FILE *out, const void *arg)
{
	struct json_writer w;

	json_writer_init(&w, 1 << 20);
	json_writer_open(&w, NULL, '{');
	json_writer_text(&w, "text", arg);
	json_writer_count(&w, "count", UINT64_MAX);
	json_writer_address(&w, "address", 0);
	json_writer_bool(&w, "yes", true);
	json_writer_open(&w, "list", '[');
	json_writer_count(&w, NULL, 0);
	json_writer_address(&w, NULL, 0xdeadbeef12345678);
	json_writer_close(&w, ']');
	json_writer_open(&w, "empty", '{');
	json_writer_close(&w, '}');
	json_writer_open(&w, "none", '[');
	json_writer_close(&w, ']');
	json_writer_close(&w, '}');
	assert_int_equal(json_writer_end(&w, out), 0);
}

static void test_texts(void **state)
{
	static const char *const texts[] = {"",
					    "mov %rax, %rbx",
					    "a \"b\" \\ /",
					    "\n\t\x01",
					    "\x7f",
					    "\xc3\xa4 \xf0\x9f\x98\x80",
					    "\xff\xfe",
					    NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *tree = printed(print_tree, texts[i]),
		     *mine = printed(print_written, texts[i]);

		assert_string_equal(mine, tree);
		free(tree);
		free(mine);
	}
}

/* Past its limit nothing is printed: no half of a document. */
static void test_limit(void **state)
{
	struct json_writer w;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	json_writer_init(&w, 16);
	json_writer_open(&w, NULL, '[');
	json_writer_text(&w, NULL, "longer than sixteen characters");
	json_writer_close(&w, ']');
	assert_int_equal(json_writer_end(&w, out), -EFBIG);
	fclose(out);
	assert_int_equal(size, 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

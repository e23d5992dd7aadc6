/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "render/name_fold.h"
#include "render/table.h"

static char *print(const struct table *t, const struct report_header *h, enum table_format format,
		   int width)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(table_print(t, h, format, out, width), 0);
	fclose(out);
	return text;
}

static void check(const struct table *t, enum table_format format, int width, const char *want)
{
	struct report_header h = {0};
	char *text = print(t, &h, format, width);

	assert_string_equal(text, want);
	free(text);
}

static struct table *sample_table(void)
{
	struct table *t = table_new("prof");

	assert_int_equal(table_add_column(t, TABLE_COUNT, "samples", "samples"), 0);
	assert_int_equal(table_add_column(t, TABLE_PERCENT, "percent", "%"), 1);
	assert_int_equal(table_add_column(t, TABLE_NAME, "function", "function"), 2);
	assert_int_equal(table_add_column(t, TABLE_NAME, "image", "image"), 3);
	assert_int_equal(table_add_column(t, TABLE_NAME, "build_id", NULL), 4);
	table_add_row(t);
	table_set_count(t, 0, 1234);
	table_set_real(t, 1, 66.666);
	table_set_name(t, 2, "main", 4);
	table_set_name(t, 3, "/bin/a,b", 8);
	table_set_name(t, 4, "b1", 2);
	table_add_row(t);
	table_set_count(t, 0, 7);
	table_set_name(t, 2, "f\n\x1b\"x\"", 6);
	return t;
}

static void text_is_aligned(void **state)
{
	struct table *t = sample_table();

	(void)state;
	check(t, TABLE_TEXT, 0,
	      "samples      %  function    image\n"
	      "   1234  66.67  main        /bin/a,b\n"
	      "      7         f\\n\\x1b\"x\"  \n");
	table_free(t);
	table_free(NULL);
}

/* The widest is not the greatest: signs, and numbers that are none, take room too. */
static void numbers_are_aligned(void **state)
{
	static const double numbers[] = {9.5,  NAN,  1.25,     -0.0,	  0,
					 -3.5, 12.5, INFINITY, -INFINITY, 2};
	struct table *t = table_new("prof");

	(void)state;
	for (int c = 0; c < 3; c++)
		assert_int_equal(table_add_column(t, c ? TABLE_REAL : TABLE_COUNT, "a", "a"), c);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		table_add_row(t);
		table_set_count(t, 0, i * i * i);
		table_set_real(t, 1, numbers[i]);
		if (i < 4)
			table_set_real(t, 2, numbers[i]);
	}
	check(t, TABLE_TEXT, 0,
	      "  a      a      a\n"
	      "  0   9.50   9.50\n"
	      "  1    nan    nan\n"
	      "  8   1.25   1.25\n"
	      " 27  -0.00  -0.00\n"
	      " 64   0.00       \n"
	      "125  -3.50       \n"
	      "216  12.50       \n"
	      "343    inf       \n"
	      "512   -inf       \n"
	      "729   2.00       \n");
	table_free(t);
}

static void csv_is_quoted(void **state)
{
	struct table *t = sample_table();

	(void)state;
	check(t, TABLE_CSV, 0,
	      "samples,percent,function,image,build_id\r\n"
	      "1234,66.666,main,\"/bin/a,b\",b1\r\n"
	      "7,,\"f\\n\\x1b\"\"x\"\"\",,\r\n");
	table_free(t);
}

static json_t *parse(const struct table *t, const struct report_header *h)
{
	char *text = print(t, h, TABLE_JSON, 0);
	json_t *value = json_loads(text, 0, NULL);

	assert_non_null(value);
	free(text);
	return value;
}

static void json_has_header_and_rows(void **state)
{
	struct table *t = sample_table();
	struct report_event event = {"cycles", 2000003, true, false, UINT64_MAX, 3, NAN};
	struct report_counter cause = {"ring", 3};
	char *epoch = "20261121T053000Z";
	struct report_header h = {
		.events = &event,
		.event_count = 1,
		.samples = 5,
		.lost = 3,
		.lost_by_cause = &cause,
		.lost_causes = 1,
		.epochs = &epoch,
		.epoch_count = 1,
	};
	json_t *j, *row, *e;

	(void)state;
	j = parse(t, &h);
	assert_string_equal(json_string_value(json_object_get(j, "report")), "prof");
	assert_int_equal(json_integer_value(json_object_get(j, "lost")), 3);
	e = json_array_get(json_object_get(j, "events"), 0);
	assert_true(json_is_true(json_object_get(e, "precise")));
	assert_true(json_is_null(json_object_get(e, "scale")));
	assert_true(json_is_real(json_object_get(e, "samples"))); /* past what an integer holds */
	row = json_array_get(json_object_get(j, "rows"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "function")), "f\n\x1b\"x\"");
	assert_true(json_is_null(json_object_get(row, "image")));
	json_decref(j);
	table_free(t);
}

static void json_escapes_what_it_cannot_hold(void **state)
{
	struct table *t = table_new("x");
	struct report_header h = {.machine = "\xff"};
	json_t *j, *row;
	int group;
	char *text;

	(void)state;
	table_add_column(t, TABLE_NAME, "name", "name");
	group = table_add_group_column(t, TABLE_COUNT, "events", "e\xfe", "e");
	table_add_column(t, TABLE_ADDRESS, "address", "address");
	table_add_row(t);
	table_set_name(t, 0, "a\xff\0b", 4);
	table_set_count(t, group, 9);
	table_set_address(t, 2, UINT64_MAX);
	table_add_row(t);
	table_set_name(t, 0,
		       "\xc2\x9b"
		       "31m",
		       5);
	j = parse(t, &h);
	row = json_array_get(json_object_get(j, "rows"), 0);
	assert_string_equal(json_string_value(json_object_get(j, "machine")), "\\xff");
	assert_string_equal(json_string_value(json_object_get(row, "name")), "a\\xff\\x00b");
	assert_string_equal(json_string_value(json_object_get(row, "address")),
			    "0xffffffffffffffff");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(row, "events"), "e\\xfe")), 9);
	row = json_array_get(json_object_get(j, "rows"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "\xc2\x9b"
									     "31m");
	json_decref(j);
	text = print(t, &h, TABLE_JSON, 0);
	for (const char *p = text; *p; p++)
		assert_true((*p >= ' ' && *p < 0x7f) || *p == '\n');
	free(text);
	table_free(t);
}

/* Of long names of C++ the innermost arguments go first, and no more than has to. */
static void long_names_are_folded(void **state)
{
	static const struct {
		const char *name;
		size_t bytes;
		const char *folded;
	} table[] = {
		{"f(std::map<int, std::vector<long>> const&)", 41,
		 "f(std::map<int, std::vector<…>> const&)"},
		{"f(std::map<int, std::vector<long>> const&)", 30, "f(std::map<…> const&)"},
		{"f(std::map<int, std::vector<long>> const&)", 5, "f(…)"},
		{"A<abcd>::operator<<(int, char)", 1, "A<…>::operator<<(…)"},
		{"A<abcd>::operator()(int, char)", 1, "A<…>::operator()(…)"},
		{"A<abcd>::operator->(void) const", 1, "A<…>::operator->(…) const"},
		{"<T as core::fmt::Debug>::fmt", 1, "<…>::fmt"},
		{"f(fn(abcd) -> long)", 1, "f(…)"},
		{"{lambda(int, long)#1}::operator()() const", 1,
		 "{lambda(…)#1}::operator()() const"},
		{"f(ab)", 1, "f(ab)"},
		{"plain", 1, NULL},
		{"f(a", 1, NULL},
		{"f(a>", 1, NULL},
		{"operator", 1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char *folded = name_fold(table[i].name, strlen(table[i].name), table[i].bytes);

		if (table[i].folded)
			assert_string_equal(folded, table[i].folded);
		else
			assert_null(folded);
		free(folded);
	}
}

/* Off a terminal, too, a name of hundreds of characters is not read by anybody; JSON has all of it.
 */
static void tables_fold_long_names(void **state)
{
	struct table *t = table_new("x");
	struct report_header h = {0};
	char name[300] = "f(", *text;

	(void)state;
	memset(name + 2, 'x', 250);
	strcpy(name + 252, ")");
	table_add_column(t, TABLE_NAME, "a", "a");
	table_add_row(t);
	table_set_name(t, 0, name, strlen(name));
	text = print(t, &h, TABLE_TEXT, 0);
	assert_non_null(strstr(text, "f(…)\n"));
	free(text);
	text = print(t, &h, TABLE_TEXT, 60);
	assert_non_null(strstr(text, "f(…)\n"));
	free(text);
	text = print(t, &h, TABLE_JSON, 0);
	assert_non_null(strstr(text, name));
	free(text);
	table_free(t);
}

static void terminal_cuts_names_to_its_width(void **state)
{
	struct table *t = table_new("x");
	struct report_header h = {0};
	char name[4096], *text, *line, *rest;

	(void)state;
	memset(name, '\n', sizeof(name));
	table_add_column(t, TABLE_COUNT, "n", "n");
	table_add_column(t, TABLE_NAME, "a", "a");
	table_add_column(t, TABLE_NAME, "b", "b");
	table_add_row(t);
	table_set_count(t, 0, 1);
	table_set_name(t, 1, name, sizeof(name));
	table_set_name(t, 2, "日本日本日本日本日本日本日本", 42);
	setenv("NO_COLOR", "1", 1);
	text = print(t, &h, TABLE_TEXT, 40);
	rest = text;
	strsep(&rest, "\n");
	line = strsep(&rest, "\n");
	/* 1 + gap + a + gap + b = 40; each name ends in an ellipsis, no escape is split. */
	assert_string_equal(line, "1  \\n\\n\\n\\n…\\n\\n\\n\\n   日本日本…日本日本");
	free(text);
	/* Nothing is cut when it is no terminal. */
	text = print(t, &h, TABLE_TEXT, 0);
	assert_true(strlen(text) > 2 * sizeof(name));
	assert_null(strstr(text, "…"));
	free(text);
	/* Where gaps of two are too much, they are of one. */
	text = print(t, &h, TABLE_TEXT, 19);
	rest = text;
	strsep(&rest, "\n");
	assert_string_equal(strsep(&rest, "\n"), "1 \\n\\n…\\n  日本…本");
	free(text);
	/* A terminal that is too narrow for anything still ends. */
	text = print(t, &h, TABLE_TEXT, 1);
	assert_non_null(text);
	free(text);
	table_free(t);
}

/* Code is what a listing is read for: a column that says less goes before code is cut. */
static void terminal_keeps_the_column_with_a_share(void **state)
{
	static const char code[] = "movsd 0xe2b(%rip), %xmm2 # 0x2008";
	struct table *t = table_new("x");
	struct report_header h = {0};
	char *text;

	(void)state;
	table_add_column(t, TABLE_COUNT, "n", "n");
	table_set_spare(t, table_add_column(t, TABLE_FIGURE, "range", "range"), 1);
	table_set_share(t, table_add_text_column(t, "code", "code"), 80);
	table_add_row(t);
	table_set_count(t, 0, 1);
	table_set_name(t, 1, "0.4 to 140", 10);
	table_set_name(t, 2, code, strlen(code));
	text = print(t, &h, TABLE_TEXT, 46);
	assert_non_null(strstr(text, "0.4 to 140"));
	assert_non_null(strstr(text, code));
	free(text);
	text = print(t, &h, TABLE_TEXT, 42);
	assert_null(strstr(text, "0.4 to 140"));
	assert_non_null(strstr(text, code));
	assert_non_null(strstr(text, "(no room for: range)"));
	free(text);
	/* What cannot be left out stands even so, and the code is cut. */
	text = print(t, &h, TABLE_TEXT, 20);
	assert_non_null(strstr(text, "…\n"));
	free(text);
	table_free(t);
}

static void only_a_terminal_gets_bold(void **state)
{
	struct table *t = sample_table();
	struct report_header h = {0};
	char *text;

	(void)state;
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	text = print(t, &h, TABLE_TEXT, 80);
	assert_non_null(strstr(text, "\033[1m"));
	free(text);
	setenv("NO_COLOR", "1", 1);
	text = print(t, &h, TABLE_TEXT, 80);
	assert_null(strchr(text, '\033'));
	free(text);
	unsetenv("NO_COLOR");
	text = print(t, &h, TABLE_TEXT, 0);
	assert_null(strchr(text, '\033'));
	free(text);
	table_free(t);
}

static void header_is_text_too(void **state)
{
	struct report_event event = {"cycles\x1b", 2000003, true, true, 90, 0, 4};
	struct report_counter causes[] = {{"ring", 2}, {"throttled", 1}};
	char *epochs[] = {"b", "c", "a"}, *machine = "m";
	struct report_header h = {
		.events = &event,
		.event_count = 1,
		.samples = 90,
		.lost = 3,
		.unknown = 9,
		.idle = 10,
		.lost_by_cause = causes,
		.lost_causes = 2,
		.epochs = epochs,
		.epoch_count = 3,
		.start_ns = 0,
		.end_ns = 61000000000,
		.machine = machine,
	};
	struct table *t = table_new("x");
	char *text;

	(void)state;
	report_header_note(&h, "of %d\n", 1);
	text = print(t, &h, TABLE_TEXT, 0);
	assert_string_equal(text,
			    "cycles\\x1b: 90 samples, one in 2000003 on average (random), precise, "
			    "counting 25.0% of the time\n"
			    "lost 3 (ring 2, throttled 1), unknown 9 (10.000%), idle 10\n"
			    "epochs a to c (3), 1970-01-01 00:00:00 to 1970-01-01 00:01:01 UTC, "
			    "machine m\n"
			    "note: of 1\\n\n"
			    "\n\n");
	free(text);
	free(h.notes[0]);
	free(h.notes);
	table_free(t);
}

static void notes_have_a_limit(void **state)
{
	struct report_header h = {0};

	(void)state;
	for (int i = 0; i < REPORT_NOTES_MAX; i++)
		report_header_note(&h, "%d", i);
	assert_int_equal(h.notes_refused, 0);
	report_header_note(&h, "x");
	assert_int_equal(h.notes_refused, 1);
	report_header_free(&h);
	report_header_free(NULL);
}

static void what_is_no_cell_is_not_set(void **state)
{
	struct table *t = table_new("x");

	(void)state;
	table_set_count(t, 0, 1);
	assert_int_equal(table_add_column(t, TABLE_COUNT, "a", "a"), 0);
	table_set_count(t, 0, 1);
	table_add_row(t);
	table_set_count(t, 1, 1);
	table_set_text(t, -1, "b");
	assert_true(table_add_column(t, TABLE_COUNT, "b", "b") < 0);
	check(t, TABLE_CSV, 0, "a\r\n\r\n");
	table_free(t);
}

/* Whoever fills a table or a header does not look: the first error is told when it is printed. */
static void errors_stay_until_printing(void **state)
{
	struct report_header h = {.error = -ENOMEM};
	struct table *t = sample_table();
	struct buf small;

	(void)state;
	assert_int_equal(table_print(t, &h, TABLE_TEXT, stderr, 0), -ENOMEM);
	assert_int_equal(table_print(t, &h, TABLE_JSON, stderr, 0), -ENOMEM);
	h.error = 0;
	buf_init(&small, 2);
	buf_printf(&small, "too long");
	table_set_buf(t, 2, &small);
	table_add_row(t);
	for (int format = TABLE_TEXT; format <= TABLE_CSV; format++)
		assert_int_equal(table_print(t, &h, format, stderr, 0), -EFBIG);
	buf_free(&small);
	table_free(t);
	table_add_row(NULL);
	table_set_text(NULL, table_add_column(NULL, TABLE_NAME, "a", "a"), "x");
	table_set_spare(NULL, 0, 1);
	assert_int_equal(table_print(NULL, &h, TABLE_TEXT, stderr, 0), -ENOMEM);
}

static void failed_output_is_told(void **state)
{
	struct table *t = sample_table();
	struct report_header h = {0};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(table_print(t, &h, TABLE_TEXT, full, 0), -EIO);
	fclose(full);
	table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_aligned),
		cmocka_unit_test(numbers_are_aligned),
		cmocka_unit_test(csv_is_quoted),
		cmocka_unit_test(json_has_header_and_rows),
		cmocka_unit_test(json_escapes_what_it_cannot_hold),
		cmocka_unit_test(long_names_are_folded),
		cmocka_unit_test(tables_fold_long_names),
		cmocka_unit_test(terminal_cuts_names_to_its_width),
		cmocka_unit_test(terminal_keeps_the_column_with_a_share),
		cmocka_unit_test(only_a_terminal_gets_bold),
		cmocka_unit_test(header_is_text_too),
		cmocka_unit_test(notes_have_a_limit),
		cmocka_unit_test(what_is_no_cell_is_not_set),
		cmocka_unit_test(errors_stay_until_printing),
		cmocka_unit_test(failed_output_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

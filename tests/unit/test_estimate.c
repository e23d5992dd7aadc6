/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "render/estimate.h"

/* Estimates as people see them: digits that the interval bears, and no certainty that is none. */

static void check(double value, double low, double high, const char *expected)
{
	char text[ESTIMATE_TEXT_MAX];

	estimate_format(value, low, high, "low", text);
	assert_string_equal(text, expected);
}

static void test_digits(void **unused)
{
	(void)unused;
	check(3.21, 0.41, 25.35, "3 (0.41 to 25, low)");
	check(22220000, 2930000, 168000000, "2e+07 (2.9e+06 to 1.7e+08, low)");
	check(5601726.15, 5.1e6, 6.2e6, "5.6e+06 (5.1e+06 to 6.2e+06, low)");
	check(3.2149, 3.19, 3.24, "3.21 (3.19 to 3.24, low)");
	check(1000, 985, 1015, "1000 (980 to 1020, low)");
	check(9.7, 3, 30, "10 (3.0 to 30, low)");
	check(0.0123, 0.001, 0.4, "0.01 (0.0010 to 0.40, low)");
	check(123456, 120000, 127000, "123000 (120000 to 127000, low)");
}

static void test_unseen(void **unused)
{
	(void)unused;
	check(0, 0, 41234, "at most 41000 (low)");
	check(0, 0, INFINITY, "not known");
	check(0, 3.3, INFINITY, "above 3.3");
	check(0, 0, 0, "0");
	check(42, 42, 42, "42 (low)");
	check(123456789012, 123456789012, 123456789012, "123456789012 (low)");
	check(1e300, 1e299, INFINITY, "1.0e+300 (above 1.0e+299, low)");
}

static void print_rows(struct table *t, enum table_format format, const char *expected)
{
	const struct report_header h = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(table_print(t, &h, format, out, 0), 0);
	fclose(out);
	if (!strstr(text, expected))
		print_message("%s\n", text);
	assert_non_null(strstr(text, expected));
	free(text);
}

static void test_columns(void **unused)
{
	struct table *t = table_new("test");
	int column = table_add_estimate(t, "cpi", "CPI", "(90%)", 1);

	(void)unused;
	table_set_estimate(t, -1, 1, 1, 1);
	table_add_row(t);
	table_set_estimate(t, column, 3.21, 0.41, 25.35);
	table_add_row(t);
	table_set_estimate(t, column, 0, 0, INFINITY);
	print_rows(t, TABLE_TEXT, "CPI       (90%)\n  3  0.41 to 25\n");
	print_rows(t, TABLE_CSV, "cpi,cpi_low,cpi_high\r\n3.21,0.41,25.35\r\n0,0,\r\n");
	table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

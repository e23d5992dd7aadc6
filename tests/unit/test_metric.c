/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include "analyze/query/metric.h"

/* Formulas over events: what they mean, and what is said of those that mean nothing. */

static struct query_event events[] = {
	{.name = "cycles", .label = "cycles", .period = 1000},
	{.name = "instructions",
	 .label = "instructions",
	 .period = 500,
	 .enabled_ns = 40,
	 .running_ns = 10},
	{.name = "cache-misses:u", .label = "cache-misses:u", .period = 10},
	{.name = "twin", .label = "twin:10", .period = 10},
	{.name = "twin", .label = "twin:20", .period = 20},
	{.name = "sched:sched_switch", .label = "sched:sched_switch", .period = 1},
};
static const struct query query = {.events = events, .event_count = 6};
static const uint64_t row[6] = {10, 20, 3, 1, 1, 0}, totals[6] = {100, 200, 30, 10, 10, 0};

/* NAN: it has no value. */
static double value_of(const char *text)
{
	struct metric_sums sums = {0}, all = {0};
	struct metric_events bound;
	struct diag diag = {""};
	struct metric *m;
	double value = NAN;

	if (metric_new(text, &m, &diag))
		fail_msg("%s", diag.text);
	if (metric_bind(m, &query, &bound, &diag))
		fail_msg("%s", diag.text);
	metric_add(m, &bound, row, &sums);
	metric_add(m, &bound, totals, &all);
	if (!metric_value(m, &sums, &all, &value))
		value = NAN;
	metric_free(m);
	return value;
}

static void test_arithmetic(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"x = 1 + 2 * 3", 7},
		{"x=(1+2)*3", 9},
		{"x = 7 - 2 - 1", 4},
		{"x = 12 / 3 / 2", 2},
		{"x = -2 * -(3)", 6},
		{"x = - - 2", 2},
		{"x = 1e3 * .5", 500},
		{"x = min(3, max(1, 2))", 2},
		{"x = cycles", 10000},
		{"x = instructions", 20 * 500 * 4}, /* counted a quarter of the time */
		{"ipc = instructions / cycles", 4},
		{"x = samples(instructions)", 20},
		{"x = 100 * cycles / total(cycles)", 10},
		{"x = cache-misses", 30}, /* without its modifiers */
		{"x = cache-misses:u - cycles", 30 - 10000},
		{"x = cycles - cache-misses:u", 10000 - 30},
		{"x = \"sched:sched_switch\" + 1", 1},
		{"x = sched:sched_switch + 1", 1},
		{"x = twin:10 + twin:20", 30},
		{"\"a name\" = 5", 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (fabs(value_of(cases[i].text) - cases[i].value) > 1e-9)
			fail_msg("%s is %g", cases[i].text, value_of(cases[i].text));
}

static void test_no_value(void **state)
{
	static const char *const cases[] = {
		"x = 1 / 0",	     "x = cycles / sched:sched_switch",
		"x = 0 / 0",	     "x = 1 / (cycles - cycles)",
		"x = min(1, 1 / 0)", "x = max(1 / 0, 1)",
		"x = 0 * (1 / 0)",   "x = 1e308 * 10",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!isnan(value_of(cases[i])))
			fail_msg("%s has a value", cases[i]);
}

/* The value of several rows is of their sums, and not the sum of their values. */
static void test_sums(void **state)
{
	static const uint64_t other[6] = {30, 0, 0, 0, 0, 0};
	struct metric_sums sums = {0};
	struct metric_events bound;
	struct metric *m;
	double value;

	(void)state;
	assert_int_equal(metric_new("ipc = instructions / cycles", &m, NULL), 0);
	assert_string_equal(metric_name(m), "ipc");
	assert_string_equal(metric_formula(m), "instructions / cycles");
	assert_int_equal(metric_bind(m, &query, &bound, NULL), 0);
	metric_add(m, &bound, row, &sums);
	metric_add(m, &bound, other, &sums);
	assert_true(metric_value(m, &sums, &sums, &value));
	assert_true(fabs(value - 1) < 1e-12); /* 40000 / 40000, where the rows have 4 and 0 */
	metric_free(m);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "position 1 (its end): a metric begins with its name"},
		{"5 = 3", "position 1 (at '5 = 3'): a metric begins"},
		{"x", "position 2 (its end): '=' is missing"},
		{"x =", "position 4 (its end): expected a number"},
		{"x = 1 +", "position 8 (its end): expected a number"},
		{"x = 1 + * 2", "position 9 (at '* 2'): expected a number"},
		{"x = (1 + 2", "position 11 (its end): ')' is missing"},
		{"x = 1 2", "position 7 (at '2'): expected an operator"},
		{"x = 1)", "position 6 (at ')'): expected an operator"},
		{"x = 5cycles", "position 6 (at 'cycles'): expected an operator"},
		{"x = 1e999", "position 5 (at '1e999'): this is not a number"},
		{"x = sin(1)", "position 5 (at 'sin(1)'): no such function"},
		{"x = min(1)", "position 10 (at ')'): expected two values"},
		{"x = max(1, 2", "position 13 (its end): ')' is missing"},
		{"x = samples(5)", "position 13 (at '5)'): expected the name of an event"},
		{"x = total(cycles", "position 17 (its end): ')' is missing"},
		{"x = \"cycles", "position 5 (at '\"cycles'): the quote is not closed"},
		{"x = \"\"", "position 5 (at '\"\"'): the name is empty"},
		{"x = a+b+c+d+e+f+g+h+i", "position 21 (at 'i'): a formula may have 8 events"},
	};
	struct diag diag;
	struct metric *m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(metric_new(cases[i].text, &m, &diag), -EINVAL);
		if (!strstr(diag.text, cases[i].says))
			fail_msg("'%s': %s", cases[i].text, diag.text);
	}
}

static void test_events(void **state)
{
	struct metric_events bound;
	struct diag diag;
	struct metric *m;

	(void)state;
	assert_int_equal(metric_new("x = cycles + cyclops", &m, NULL), 0);
	assert_int_equal(metric_bind(m, &query, &bound, &diag), -ENOENT);
	assert_non_null(strstr(diag.text,
			       "position 14: there is no event 'cyclops'; the events are: "
			       "cycles, instructions, cache-misses:u, twin:10"));
	metric_free(m);
	assert_int_equal(metric_new("x = twin", &m, NULL), 0);
	assert_int_equal(metric_bind(m, &query, &bound, &diag), -EINVAL);
	assert_non_null(strstr(diag.text, "'twin' matches 2 events"));
	metric_free(m);
}

static int make(const char *piece, size_t times, const char *end)
{
	char text[METRIC_TEXT_MAX + 100] = "x = ";
	struct metric *m;
	int r;

	for (size_t i = 0; i < times; i++)
		strcat(text, piece);
	strcat(text, end);
	r = metric_new(text, &m, NULL);
	if (!r)
		metric_free(m);
	return r;
}

/* Long, deep and any other text ends in a sentence. */
static void test_limits(void **state)
{
	static const char letters[] = "x=1+-*/()., \"e-cyclesminmax";
	char text[40];
	uint64_t random = 1;
	struct metric *m;
	unsigned good = 0;

	(void)state;
	assert_int_equal(make("1+", 100, "1"), 0);
	assert_int_equal(make("1+", 1000, "1"), -EINVAL);
	assert_int_equal(make("(", 50, "1))))))))))))))))))))))))))))))))))))))))))))))))))"), 0);
	assert_int_equal(make("(", 3000, "1"), -EINVAL);
	assert_int_equal(make("-", 3000, "1"), -EINVAL);
	assert_int_equal(make("1", METRIC_TEXT_MAX, ""), -EINVAL);
	for (unsigned i = 0; i < 200000; i++) {
		strcpy(text, "x=1");
		for (size_t k = 2; k < sizeof(text) - 1; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			text[k] = k > 3 + i % 30 ? 0 : letters[(random >> 40) % 26];
		}
		text[sizeof(text) - 1] = 0;
		if (!metric_new(text, &m, NULL)) {
			good++;
			metric_free(m);
		}
	}
	assert_true(good > 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_no_value),
		cmocka_unit_test(test_sums),	   cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_events),	   cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

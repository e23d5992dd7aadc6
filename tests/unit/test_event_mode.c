/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "analyze/query/event_mode.h"

static void test_same(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool same;
	} table[] = {
		{"cpu-clock", "cpu-clock:pppH", true},
		{"cycles", "cycles:P", true},
		{"cycles:ppp", "cycles:uk", true},
		{"cycles:u", "cycles:pppu", true},
		{"cycles:u", "cycles", false},
		{"cycles:u", "cycles:k", false},
		{"cycles", "cycles:G", false},
		{"cycles", "cpu-cycles", false},
		{"sched:sched_switch", "sched:sched_switch", true},
		{"sched:sched_switch", "sched:sched_wakeup", false},
		{":u", "", false},
		{"u", "k", false},
		{"", "", true},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(event_mode_same(table[i].a, table[i].b), table[i].same);
		assert_int_equal(event_mode_same(table[i].b, table[i].a), table[i].same);
	}
}

static void test_clock(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t size;
	} table[] = {
		{"cpu-clock", 9},    {"cpu-clock:pppH", 9},  {"task-clock:ppp", 10},
		{"cpu-clock:u", 11}, {"cpu-clock:uppp", 14}, {"cycles:pppH", 11},
		{"cpu-clock:", 10},  {"cpu-clock:G", 11},    {"", 0},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(event_mode_clock_size(table[i].name, strlen(table[i].name)),
				 table[i].size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

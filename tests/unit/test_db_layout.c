/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names in a database: what is one, what is only like one, and how they are ordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "db/layout.h"

#define NS 1000000000ull

static void epochs_have_times(void **state)
{
	char name[LAYOUT_NAME_MAX];

	(void)state;
	layout_epoch_name(1795239000 * NS + 999999999, 1, name);
	assert_string_equal(name, "20261121T053000Z");
	assert_int_equal(layout_epoch_time_ns(name), 1795239000 * NS);
	layout_epoch_name(1795239000 * NS, 4294967295u, name);
	assert_string_equal(name, "20261121T053000Z-4294967295");
	assert_true(layout_is_epoch(name));
	assert_int_equal(layout_epoch_time_ns(name), 1795239000 * NS);
	/* The first and the last that a clock can show. */
	layout_epoch_name(0, 0, name);
	assert_string_equal(name, "19700101T000000Z");
	layout_epoch_name(UINT64_MAX, 1, name);
	assert_string_equal(name, "25540721T233433Z");
	assert_true(layout_is_epoch(name));
}

static void what_is_like_an_epoch_is_none(void **state)
{
	static const char *const wrong[] = {
		"",
		"20261121T053000",
		"20261121t053000Z",
		"20261121T05300aZ",
		"20261121T053000Z-",
		"20261121T053000Z-0",
		"20261121T053000Z-1",
		"20261121T053000Z-02",
		"20261121T053000Z-2x",
		"20261121T053000Z-4294967296",
		"20261121T053000Z-99999999999999999999",
		"20261121T053000Z ",
		"removing-20261121T053000Z",
		"images",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (layout_is_epoch(wrong[i]))
			fail_msg("'%s'", wrong[i]);
	assert_true(layout_is_epoch("20261121T053000Z"));
	assert_true(layout_is_epoch("20261121T053000Z-2"));
}

static void epochs_are_in_the_order_of_time(void **state)
{
	static const char *const order[] = {
		"20251231T235959Z-3",  "20261121T053000Z",    "20261121T053000Z-2",
		"20261121T053000Z-10", "20261121T053000Z-11", "20261121T053001Z",
	};
	size_t count = sizeof(order) / sizeof(order[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			int got = layout_compare_epochs(order[i], order[j]);

			assert_int_equal((got > 0) - (got < 0), (i > j) - (i < j));
		}
}

static void packs_have_numbers(void **state)
{
	static const char *const wrong[] = {
		"seg-",
		"seg-0000001",
		"seg-00000000",
		"seg-000000001 ",
		"seg-4294967296",
		"seg-00000000001",
		"seg-0000000x",
		"base-00000001-00000001",
		"damaged-seg-00000001",
	};
	static const char *const wrong_bases[] = {
		"base-00000001",
		"base-00000001-",
		"base-00000000-00000001",
		"base-00000001-00000000",
		"base-00000001-00000001x",
		"base-00000001_00000001",
		"base-4294967296-00000001",
		"seg-00000001",
	};
	char name[LAYOUT_NAME_MAX];
	uint32_t number = 7, upto = 8;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (layout_parse_segment(wrong[i], &number) || number != 7)
			fail_msg("'%s'", wrong[i]);
	for (size_t i = 0; i < sizeof(wrong_bases) / sizeof(wrong_bases[0]); i++)
		if (layout_parse_base(wrong_bases[i], &number, &upto) || number != 7 || upto != 8)
			fail_msg("'%s'", wrong_bases[i]);
	layout_segment_name(1, name);
	assert_string_equal(name, "seg-00000001");
	layout_segment_name(UINT32_MAX, name);
	assert_true(layout_parse_segment(name, &number));
	assert_int_equal(number, UINT32_MAX);
	layout_base_name(UINT32_MAX, 100000000, name);
	assert_string_equal(name, "base-4294967295-100000000");
	assert_true(layout_parse_base(name, &number, &upto));
	assert_int_equal(number, UINT32_MAX);
	assert_int_equal(upto, 100000000);
}

static void machines_are_plain_names(void **state)
{
	char name[130], *here;

	(void)state;
	memset(name, 'm', sizeof(name));
	name[128] = 0;
	assert_true(layout_is_machine(name));
	name[128] = 'm';
	name[129] = 0;
	assert_false(layout_is_machine(name));
	assert_true(layout_is_machine("host-web.example_1"));
	assert_false(layout_is_machine(""));
	assert_false(layout_is_machine("."));
	assert_false(layout_is_machine(".."));
	assert_false(layout_is_machine(".hidden"));
	assert_false(layout_is_machine("a/b"));
	assert_false(layout_is_machine("a\nb"));
	assert_false(layout_is_machine("a b"));
	here = layout_machine_name();
	assert_non_null(here);
	assert_true(layout_is_machine(here));
	free(here);
}

static void what_is_being_written_ends_in_tmp(void **state)
{
	(void)state;
	assert_true(layout_is_temporary("seg-00000001.tmp"));
	assert_false(layout_is_temporary(".tmp"));
	assert_false(layout_is_temporary("seg-00000001.tmp2"));
	assert_false(layout_is_temporary(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epochs_have_times),
		cmocka_unit_test(what_is_like_an_epoch_is_none),
		cmocka_unit_test(epochs_are_in_the_order_of_time),
		cmocka_unit_test(packs_have_numbers),
		cmocka_unit_test(machines_are_plain_names),
		cmocka_unit_test(what_is_being_written_ends_in_tmp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

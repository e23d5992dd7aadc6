/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "util/num.h"

typedef int parse(const char *text, uint64_t *ret);

static void good(parse *f, const char *text, uint64_t want)
{
	uint64_t v = 0;

	assert_int_equal(f(text, &v), 0);
	assert_true(v == want);
}

static void bad(parse *f, const char *text, int error)
{
	uint64_t v = 12345;

	assert_int_equal(f(text, &v), error);
	assert_int_equal(v, 12345);
}

static void plain_numbers(void **state)
{
	static const char *const wrong[] = {"",	  " 1",	 "1 ",	 "-1", "+1",   "0x", "0xg",
					    "1k", "1.0", "0x 1", "x",  "0x-1", "1e3"};

	(void)state;
	good(num_parse_u64, "0", 0);
	good(num_parse_u64, "010", 10);
	good(num_parse_u64, "18446744073709551615", UINT64_MAX);
	good(num_parse_u64, "0xffffffffffffffff", UINT64_MAX);
	good(num_parse_u64, "0XaB", 0xab);
	bad(num_parse_u64, "18446744073709551616", -ERANGE);
	bad(num_parse_u64, "0x10000000000000000", -ERANGE);
	bad(num_parse_u64, "99999999999999999999999x", -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		bad(num_parse_u64, wrong[i], -EINVAL);
}

static void units(void **state)
{
	(void)state;
	good(num_parse_count, "10", 10);
	good(num_parse_count, "1.5k", 1500);
	good(num_parse_count, "2M", 2000000);
	good(num_parse_count, "18G", 18000000000);
	bad(num_parse_count, "99999999999G", -ERANGE);
	bad(num_parse_count, "1.5", -EINVAL);
	bad(num_parse_count, "1.k", -EINVAL);
	bad(num_parse_count, ".5k", -EINVAL);
	bad(num_parse_count, "1kk", -EINVAL);
	bad(num_parse_count, "999999999999999999999Q", -EINVAL);
	good(num_parse_bytes, "1.5K", 1536);
	good(num_parse_bytes, "3GiB", 3ULL << 30);
	good(num_parse_bytes, "16B", 16);
	good(num_parse_bytes, "16777215T", 16777215ULL << 40);
	bad(num_parse_bytes, "16777216T", -ERANGE);
	bad(num_parse_bytes, "0.1K", -EINVAL);
	good(num_parse_duration_ns, "0", 0);
	good(num_parse_duration_ns, "0.5s", 500000000);
	good(num_parse_duration_ns, "2m", 120000000000);
	good(num_parse_duration_ns, "1w", 604800000000000);
	good(num_parse_duration_ns, "15us", 15000);
	bad(num_parse_duration_ns, "15", -EINVAL);
	bad(num_parse_duration_ns, "40000w", -ERANGE);
	bad(num_parse_duration_ns, "1.0000000001s", -EINVAL);
}

static void percents(void **state)
{
	double v = 7;

	(void)state;
	assert_int_equal(num_parse_percent("0", &v), -ERANGE);
	assert_int_equal(num_parse_percent("100.1%", &v), -ERANGE);
	assert_int_equal(num_parse_percent("1%%", &v), -EINVAL);
	assert_int_equal(num_parse_percent("nan", &v), -EINVAL);
	assert_int_equal(num_parse_percent("-1", &v), -EINVAL);
	assert_true(v == 7);
	assert_int_equal(num_parse_percent("0.25%", &v), 0);
	assert_true(v == 0.25);
	assert_int_equal(num_parse_percent("100", &v), 0);
	assert_true(v == 100);
}

static void saturation(void **state)
{
	(void)state;
	assert_true(num_add_sat(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(num_add_sat(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(num_add_sat(1, 2) == 3);
	assert_true(num_mul_sat(1ULL << 32, 1ULL << 32) == UINT64_MAX);
	assert_true(num_mul_sat(0, UINT64_MAX) == 0);
	assert_true(num_mul_sat(3, 4) == 12);
}

static void orders(void **state)
{
	uint32_t small[] = {UINT32_MAX, 0, 1u << 31, 7};
	double real[] = {0.5, -1, 1e300, 0.25};

	(void)state;
	qsort(small, 4, sizeof(*small), num_compare_u32);
	assert_true(small[0] == 0 && small[1] == 7 && small[2] == 1u << 31);
	qsort(real, 4, sizeof(*real), num_compare_double);
	assert_true(real[0] == -1 && real[1] == 0.25 && real[2] == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_numbers), cmocka_unit_test(units),
		cmocka_unit_test(percents),	 cmocka_unit_test(saturation),
		cmocka_unit_test(orders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

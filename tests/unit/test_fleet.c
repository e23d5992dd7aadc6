/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a fleet's tables keep: numbers that may never change, the words of URLs, rows in RowBinary.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fleet/ids.h"
#include "fleet/names.h"
#include "fleet/url.h"

/* They are in the tables of every fleet: another hash, another order of bytes is another fleet. */
static void test_numbers_stay(void **state)
{
	const struct image_id image = {IMAGE_BUILD_ID, 2, {0xaa, 0x11}};
	const struct db_event event = {"cycles", 1000, DB_EVENT_USER};
	uint64_t images[] = {1, 2}, offsets[] = {3, 4};
	uint8_t stack[FLEET_STACK_ID];

	(void)state;
	assert_int_equal(fleet_id_machine("host-a"), 0xe9d941d193e241cf);
	assert_int_equal(fleet_id_epoch("host-a", "20231114T221320Z"), 0x9351f63f6eab809b);
	assert_int_equal(fleet_id_image(&image), 0x4fc9cbb7fab2942f);
	assert_int_equal(fleet_id_event(&event), 0x970369c1421c24c4);
	assert_int_equal(fleet_id_subject("", 0), 0x89d130da47fb908c);
	fleet_id_stack(images, offsets, 2, stack);
	assert_int_equal(stack[0] << 8 | stack[15], 0xfd4d);
}

/* Each part of what a thing is makes another number of it. */
static void test_numbers_differ(void **state)
{
	struct db_event a = {"cycles", 1000, 0}, b = {"cycles", 1000, 1}, c = {"cycles", 1001, 0};
	struct image_id x = {IMAGE_BUILD_ID, 1, {0}}, y = {IMAGE_BUILD_ID, 2, {0}},
			z = {IMAGE_CONTENT, 1, {0}};
	uint64_t one[] = {1, 2}, two[] = {2, 1};
	uint8_t first[FLEET_STACK_ID], second[FLEET_STACK_ID];

	(void)state;
	assert_int_not_equal(fleet_id_event(&a), fleet_id_event(&b));
	assert_int_not_equal(fleet_id_event(&a), fleet_id_event(&c));
	assert_int_not_equal(fleet_id_image(&x), fleet_id_image(&y));
	assert_int_not_equal(fleet_id_image(&x), fleet_id_image(&z));
	assert_int_not_equal(fleet_id_epoch("ab", "c"), fleet_id_epoch("a", "bc"));
	assert_int_not_equal(fleet_id_machine("m"), fleet_id_subject("m", 1));
	fleet_id_stack(one, two, 2, first);
	fleet_id_stack(two, one, 2, second);
	assert_memory_not_equal(first, second, sizeof(first));
}

static void test_days(void **state)
{
	(void)state;
	assert_int_equal(fleet_day("20231114T221320Z"), 19675);
	assert_int_equal(fleet_day("20231115T000000Z-2"), 19676);
}

static void test_urls(void **state)
{
	static const char *const refused[] = {
		"",
		"h",
		"ftp://h/x",
		"http://",
		"http:///x",
		"http://h/",
		"http://h/1x",
		"http://h/x;y",
		"http://h/x/y",
		"http://h/x y",
		"http://h?",
		"http://u:p@h/",
		"http://h\nX: y/",
		"http://h/x\"y",
		"http://h/x%20",
	};
	char base[FLEET_URL_MAX], database[FLEET_DATABASE_MAX];
	struct diag diag;

	(void)state;
	assert_int_equal(fleet_url_split("http://h:8123", base, database, &diag), 0);
	assert_string_equal(base, "http://h:8123");
	assert_string_equal(database, "culprit");
	assert_int_equal(fleet_url_split("https://[::1]:8443/fleet_2", base, database, &diag), 0);
	assert_string_equal(base, "https://[::1]:8443");
	assert_string_equal(database, "fleet_2");
	assert_int_equal(fleet_url_split("http://h/", base, database, &diag), 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strcmp(refused[i], "http://h/"))
			assert_int_equal(fleet_url_split(refused[i], base, database, &diag),
					 -EINVAL);
}

/* What is wanted and was never named: an unknown image, a subject of nothing, no event. */
static void test_names_that_are_missing(void **state)
{
	struct db_batch *batch = db_batch_new(1000);
	struct fleet_names names;
	uint32_t index;

	(void)state;
	assert_int_equal(fleet_names_init(&names), 0);
	for (int i = 0; i < FLEET_NAME_SORTS; i++)
		assert_int_equal(fleet_names_want(&names, (enum fleet_sort)i, 42, 1), 0);
	assert_int_equal(fleet_names_want(&names, FLEET_NAME_IMAGE, UINT64_MAX, 1), 0);
	assert_int_equal(fleet_names_batch(&names, FLEET_NAME_IMAGE, 42, batch, &index), 0);
	assert_int_equal(fleet_names_batch(&names, FLEET_NAME_SUBJECT, 42, batch, &index), 0);
	assert_int_equal(fleet_names_batch(&names, FLEET_NAME_EVENT, 42, batch, &index), -ENOENT);
	assert_int_equal(fleet_names_batch(&names, FLEET_NAME_IMAGE, UINT64_MAX, batch, &index),
			 -ENOENT);
	fleet_names_free(&names);
	db_batch_free(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_stay),
		cmocka_unit_test(test_numbers_differ),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_names_that_are_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

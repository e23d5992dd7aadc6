/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch.h"
#include "db/batch_rows.h"

static const struct image_id image_a = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {9, 9}};
static const struct image_id image_b = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1, 1}};
static const struct db_event cycles = {"cycles", 1000, DB_EVENT_PRECISE};

static uint32_t make_profile(struct db_batch *b, const struct image_id *id, const char *subject)
{
	uint32_t image, event, index, profile;

	assert_int_equal(db_batch_image(b, id, "/bin/a", 6, &image), 0);
	assert_int_equal(db_batch_event(b, &cycles, &event), 0);
	assert_int_equal(db_batch_subject(b, subject, strlen(subject), &index), 0);
	assert_int_equal(db_batch_profile(b, image, event, index, &profile), 0);
	return profile;
}

struct seen {
	struct db_row rows[16];
	size_t count;
};

static int see(void *arg, const void *item)
{
	struct seen *s = arg;

	assert_true(s->count < 16);
	s->rows[s->count++] = *(const struct db_row *)item;
	return 0;
}

static void equal_things_share_a_number(void **state)
{
	struct db_batch *b = db_batch_new(100);
	uint32_t first, second;

	(void)state;
	assert_int_equal(make_profile(b, &image_a, "x"), make_profile(b, &image_a, "x"));
	assert_int_not_equal(make_profile(b, &image_a, "x"), make_profile(b, &image_a, "y"));
	/* An image is what it contains: another path is no other image. */
	assert_int_equal(db_batch_image(b, &image_a, "/bin/a", 6, &first), 0);
	assert_int_equal(db_batch_image(b, &image_a, "/bin/other", 10, &second), 0);
	assert_int_equal(first, second);
	db_batch_free(b);
}

static void rows_come_sorted_and_summed(void **state)
{
	struct db_batch *b = db_batch_new(100);
	uint32_t a = make_profile(b, &image_a, "x"), c = make_profile(b, &image_b, "z"),
		 d = make_profile(b, &image_b, "y");
	struct seen s = {.count = 0};

	(void)state;
	assert_int_equal(db_batch_add(b, a, 7, 1), 0);
	assert_int_equal(db_batch_add(b, c, 9, 2), 0);
	assert_int_equal(db_batch_add(b, d, 9, 3), 0);
	assert_int_equal(db_batch_add(b, c, 5, 4), 0);
	assert_int_equal(db_batch_add(b, c, 9, 10), 0);
	assert_int_equal(db_batch_add(b, c, 1, 0), 0); /* nothing is nothing */
	assert_int_equal(db_batch_rows(b), 4);
	assert_int_equal(db_batch_each_row(b, see, &s), 0);
	assert_int_equal(s.count, 4);
	for (size_t i = 1; i < s.count; i++)
		assert_true(db_row_compare(&s.rows[i - 1], &s.rows[i]) < 0);
	assert_int_equal(s.rows[0].offset, 5);
	assert_int_equal(s.rows[1].count, 3); /* "y" before "z" */
	assert_int_equal(s.rows[2].count, 12);
	assert_int_equal(s.rows[3].offset, 7);
	db_batch_free(b);
}

static void counts_grow_past_32_bits(void **state)
{
	struct db_batch *b = db_batch_new(100);
	uint32_t p = make_profile(b, &image_a, "x");
	struct seen s = {.count = 0};

	(void)state;
	assert_int_equal(db_batch_add(b, p, 1, UINT32_MAX), 0);
	assert_int_equal(db_batch_add(b, p, 1, 1), 0);
	assert_int_equal(db_batch_add(b, p, 2, 5000000000u), 0);
	assert_int_equal(db_batch_add(b, p, 2, 5000000000u), 0);
	assert_int_equal(db_batch_add(b, p, 3, UINT64_MAX), 0);
	assert_int_equal(db_batch_add(b, p, 3, 2), 0); /* stops there */
	assert_int_equal(db_batch_each_row(b, see, &s), 0);
	assert_int_equal(s.count, 3);
	assert_true(s.rows[0].count == (uint64_t)UINT32_MAX + 1);
	assert_true(s.rows[1].count == 10000000000u);
	assert_true(s.rows[2].count == UINT64_MAX);
	db_batch_free(b);
}

static void a_full_batch_says_so_and_still_sums(void **state)
{
	struct db_batch *b = db_batch_new(5000);
	uint32_t p = make_profile(b, &image_a, "x");

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(db_batch_add(b, p, i * 64, 1), 0);
	assert_int_equal(db_batch_add(b, p, 1, 1), -ENOSPC);
	assert_int_equal(db_batch_add(b, p, 64, 1), 0);
	assert_int_equal(db_batch_add(b, p, 64, UINT32_MAX), -ENOSPC); /* needs a second slot */
	assert_int_equal(db_batch_rows(b), 5000);
	db_batch_clear(b);
	assert_int_equal(db_batch_rows(b), 0);
	assert_int_equal(db_batch_add(b, p, 1, 1), -EINVAL); /* a number from before */
	p = make_profile(b, &image_a, "x");
	assert_int_equal(db_batch_add(b, p, 1, 1), 0);
	db_batch_free(b);
}

static void names_have_limits(void **state)
{
	struct db_batch *b = db_batch_new(100);
	char *big = calloc(1, 5000);
	uint32_t index;
	int r = 0;

	(void)state;
	memset(big, 'x', 4999);
	assert_int_equal(db_batch_image(b, &image_a, big, 4999, &index), -EINVAL);
	assert_int_equal(db_batch_subject(b, big, 4999, &index), -EINVAL);
	assert_int_equal(db_batch_count(b, DB_EVENT_NONE, big, 1), -EINVAL);
	assert_int_equal(db_batch_count(b, 3, "x", 1), -EINVAL);
	assert_int_equal(db_batch_profile(b, 0, 0, 0, &index), -EINVAL);
	/* Subjects of an endless series: refused in time, and what is there stays good. */
	for (uint32_t i = 0; i < 100000 && r == 0; i++) {
		memcpy(big, &i, sizeof(i));
		r = db_batch_subject(b, big, 4000, &index);
	}
	assert_int_equal(r, -ENOSPC);
	memset(big, 0, 4);
	assert_int_equal(db_batch_subject(b, big, 4000, &index), 0);
	assert_int_equal(index, 0);
	free(big);
	db_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_things_share_a_number),
		cmocka_unit_test(rows_come_sorted_and_summed),
		cmocka_unit_test(counts_grow_past_32_bits),
		cmocka_unit_test(a_full_batch_says_so_and_still_sums),
		cmocka_unit_test(names_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is mapped where while a perf.data is read, against a plain array of addresses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include "exchange/perf_space.h"

#define ADDRESSES 64
#define NOTHING	  0

/* image numbers from 1. */
static void add(struct perf_space **s, uint64_t start, uint64_t end, uint32_t image)
{
	struct perf_range range = {.start = start, .end = end, .base = 7 * image, .image = image};

	assert_int_equal(perf_space_add(s, &range), 0);
}

static void check(struct perf_space *s, uint64_t address, uint32_t image)
{
	const struct perf_range *r = perf_space_find(s, address);

	if (image == NOTHING) {
		assert_null(r);
		return;
	}
	assert_non_null(r);
	assert_int_equal(r->image, image);
	assert_int_equal(r->base, 7 * image); /* whatever was cut off before it */
	assert_true(r->start <= address && address < r->end);
}

static void check_all(struct perf_space *s, const uint32_t *images)
{
	for (uint64_t a = 0; a < ADDRESSES; a++)
		check(s, a, images[a]);
}

static void a_later_range_cuts_what_it_overlaps(void **state)
{
	struct perf_space *s = perf_space_new();

	(void)state;
	add(&s, 10, 30, 1);
	add(&s, 15, 20, 2); /* in the middle: there are two parts of the first */
	check(s, 9, NOTHING);
	check(s, 10, 1);
	check(s, 14, 1);
	check(s, 15, 2);
	check(s, 19, 2);
	check(s, 20, 1);
	check(s, 29, 1);
	check(s, 30, NOTHING);
	perf_space_unref(s);
}

static void any_order_gives_what_an_array_does(void **state)
{
	uint32_t images[ADDRESSES], number;
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct perf_space *s = perf_space_new();

		for (uint64_t a = 0; a < ADDRESSES; a++)
			images[a] = NOTHING;
		for (number = 1; number < 40; number++) {
			uint64_t start = (uint64_t)rand_r(&seed) % ADDRESSES;
			uint64_t end = start + 1 + (uint64_t)rand_r(&seed) % (ADDRESSES - start);
			bool removes = rand_r(&seed) % 4 == 0;

			if (removes)
				assert_int_equal(perf_space_remove(&s, start, end), 0);
			else
				add(&s, start, end, number);
			for (uint64_t a = start; a < end; a++)
				images[a] = removes ? NOTHING : number;
			check_all(s, images);
		}
		perf_space_unref(s);
	}
}

/* A child has its parent's mappings until either changes its own. */
static void who_shares_sees_no_change(void **state)
{
	struct perf_space *parent = perf_space_new(), *child, *other;

	(void)state;
	add(&parent, 10, 20, 1);
	child = perf_space_ref(parent);
	other = perf_space_ref(parent);
	assert_ptr_equal(child, parent);
	add(&child, 12, 14, 2);
	assert_int_equal(perf_space_remove(&other, 10, 11), 0);
	check(parent, 10, 1);
	check(parent, 12, 1);
	check(child, 10, 1);
	check(child, 12, 2);
	check(other, 10, NOTHING);
	check(other, 12, 1);
	perf_space_unref(parent);
	check(child, 15, 1);
	perf_space_unref(child);
	perf_space_unref(other);
	perf_space_unref(NULL);
}

static void ranges_without_size_are_refused(void **state)
{
	struct perf_space *s = perf_space_new();
	struct perf_range none = {.start = 5, .end = 5, .image = 1};
	struct perf_range backward = {.start = 6, .end = 5, .image = 1};

	(void)state;
	assert_int_equal(perf_space_add(&s, &none), -EINVAL);
	assert_int_equal(perf_space_add(&s, &backward), -EINVAL);
	add(&s, 0, 10, 1);
	assert_int_equal(perf_space_remove(&s, 6, 5), 0);
	check(s, 5, 1);
	perf_space_unref(s);
}

/* A hostile file can neither add nor cut its way past the limit. */
static void there_is_a_limit(void **state)
{
	struct perf_space *s = perf_space_new();
	const uint64_t size = 4 * PERF_RANGES_MAX;
	struct perf_range one = {.start = size, .end = size + 1, .image = 2};
	uint64_t cut = 1;
	int r = 0;

	(void)state;
	add(&s, 0, size, 1);
	for (; cut < size && !r; cut += 2)
		r = perf_space_remove(&s, cut, cut + 1);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(cut, 2 * PERF_RANGES_MAX + 1);
	check(s, cut - 4, NOTHING);
	check(s, cut - 2, 1); /* the one that was refused */
	assert_int_equal(perf_space_add(&s, &one), -ENOSPC);
	check(s, size, NOTHING);
	perf_space_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_range_cuts_what_it_overlaps),
		cmocka_unit_test(any_order_gives_what_an_array_does),
		cmocka_unit_test(who_shares_sees_no_change),
		cmocka_unit_test(ranges_without_size_are_refused),
		cmocka_unit_test(there_is_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

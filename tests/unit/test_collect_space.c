/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "collect/process/space.h"

static struct files *files;

static struct mapped_file *file(const char *path)
{
	struct file_name name = {.path = path, .path_size = strlen(path), .inode = 1};

	return files_take(files, &name);
}

static void add(struct space **s, uint64_t start, uint64_t end, const char *path, uint64_t time)
{
	assert_int_equal(space_add(s, start, end, 0x100, file(path), time), 0);
}

static void check(struct space *s, uint64_t pc, uint64_t time, const char *path, uint64_t offset)
{
	struct mapping *m = space_find(s, pc, time);

	if (!path) {
		assert_null(m);
		return;
	}
	assert_non_null(m);
	assert_string_equal(m->file->path, path);
	assert_int_equal(pc - m->start + m->file_offset, offset);
}

static void test_finds_by_address(void **state)
{
	struct space *s = space_new();

	(void)state;
	add(&s, 0x5000, 0x6000, "/b", 0);
	add(&s, 0x1000, 0x2000, "/a", 0);
	add(&s, 0x9000, 0xa000, "/c", 0);
	check(s, 0xfff, 1, NULL, 0);
	check(s, 0x1000, 1, "/a", 0x100);
	check(s, 0x1fff, 1, "/a", 0x10ff);
	check(s, 0x2000, 1, NULL, 0);
	check(s, 0x5800, 1, "/b", 0x900);
	check(s, 0x9fff, 1, "/c", 0x10ff);
	check(s, UINT64_MAX, 1, NULL, 0);
	assert_true(space_has(s, 0x5000, 0x6000, 0x100, "/b", 2));
	assert_false(space_has(s, 0x5000, 0x6000, 0x200, "/b", 2));
	add(&s, 0x7000, 0x8000, "/d", 5);
	assert_true(space_changed(s, 0x1000, 0xb000, 4));
	assert_true(space_changed(s, 0x7fff, 0x8000, 4));
	assert_false(space_changed(s, 0x1000, 0xb000, 5));
	assert_false(space_changed(s, 0x8000, 0xb000, 4));
	assert_false(space_changed(s, 0x1000, 0x7000, 4));
	assert_false(space_changed(NULL, 0x1000, 0x7000, 4));
	space_unref(s);
}

/* A mapping over others cuts them; what was there before is still found for older samples. */
static void test_overlaps_are_cut_in_time(void **state)
{
	struct space *s = space_new();

	(void)state;
	add(&s, 0x1000, 0x9000, "/old", 10);
	add(&s, 0x3000, 0x5000, "/new", 20);
	check(s, 0x2000, 15, "/old", 0x1100);
	check(s, 0x4000, 15, "/old", 0x3100);
	check(s, 0x4000, 20, "/new", 0x1100);
	check(s, 0x6000, 25, "/old", 0x5100);
	assert_int_equal(space_mappings(s), 3);
	add(&s, 0x0800, 0xa000, "/all", 30);
	assert_int_equal(space_mappings(s), 1);
	check(s, 0x4000, 15, "/old", 0x3100);
	check(s, 0x4000, 25, "/new", 0x1100);
	check(s, 0x4000, 30, "/all", 0x3900);
	space_collect(s, 31);
	check(s, 0x4000, 15, "/all", 0x3900);
	space_unref(s);
}

/* What nobody can have run yet is not the place of an older sample. */
static void test_born_later_is_not_the_place(void **state)
{
	struct space *s = space_new();

	(void)state;
	add(&s, 0x1000, 0x2000, "/a", 10);
	add(&s, 0x1000, 0x2000, "/b", 20);
	check(s, 0x1800, 10, "/a", 0x900);
	check(s, 0x1800, 19, "/a", 0x900);
	check(s, 0x1800, 9, "/b", 0x900); /* the one that is there: when it came may be unknown */
	space_unref(s);
}

static void test_fork_shares_until_a_change(void **state)
{
	struct space *parent = space_new(), *child;

	(void)state;
	add(&parent, 0x1000, 0x2000, "/a", 0);
	child = space_ref(parent);
	add(&child, 0x1000, 0x2000, "/b", 5);
	assert_ptr_not_equal(parent, child);
	check(parent, 0x1800, 9, "/a", 0x900);
	check(child, 0x1800, 9, "/b", 0x900);
	check(child, 0x1800, 4, "/a", 0x900);
	space_unref(child);
	space_unref(parent);
}

static void test_limit(void **state)
{
	struct space *s = space_new();

	(void)state;
	for (uint64_t i = SPACE_MAPPINGS_MAX; i > 0; i--)
		assert_int_equal(space_add(&s, i << 12, (i << 12) + 1, 0, file("/a"), 0), 0);
	assert_int_equal(space_add(&s, 1, 2, 0, file("/a"), 0), -ENOSPC);
	assert_int_equal(space_add(&s, 7, 7, 0, file("/a"), 0), -EINVAL);
	check(s, 5 << 12, 0, "/a", 0);
	space_unref(s);
}

/* Against a plain model: an array of owners by page, rewritten at each step. */
static void check_against_model(unsigned pages, unsigned most, unsigned steps)
{
	char *owner = calloc(steps + 1, pages), path[3] = "/?";
	struct space *s = space_new();

	assert_non_null(owner);
	for (unsigned step = 1; step <= steps; step++) {
		unsigned from = (unsigned)rand() % pages, left = pages - from;
		unsigned size = 1 + (unsigned)rand() % (left < most ? left : most);

		path[1] = (char)('a' + rand() % 26);
		memcpy(owner + step * pages, owner + (step - 1) * pages, pages);
		memset(owner + step * pages + from, path[1], size);
		add(&s, 0x1000u * from, 0x1000u * (from + size), path, step);
	}
	for (unsigned step = 1; step <= steps; step += 1 + steps / 400)
		for (unsigned page = 0; page < pages; page++) {
			struct mapping *m = space_find(s, 0x1000u * page, step);

			if (owner[step * pages + page])
				assert_int_equal(m->file->path[1], owner[step * pages + page]);
		}
	space_unref(s);
	free(owner);
}

static void test_random_against_a_model(void **state)
{
	(void)state;
	srand(7);
	check_against_model(64, 64, 400);
	check_against_model(1000, 8, 3000);
}

/* Whatever their order. If each cost a look at all others this would take minutes, and end at the
 * test's limit of time: /proc tells mappings from the lowest up, and whoever maps chooses freely.
 */
static void test_many_in_any_order(void **state)
{
	enum { MANY = 65521 }; /* a prime number below SPACE_MAPPINGS_MAX */

	(void)state;
	for (uint64_t factor = 1; factor <= 60; factor++) {
		struct space *s = space_new(), *other;

		for (uint64_t i = 0; i < MANY; i++) {
			uint64_t at = (1 + i * factor % MANY) << 12;

			assert_int_equal(space_add(&s, at, at + 0x1000, at, file("/a"), 0), 0);
		}
		assert_int_equal(space_mappings(s), MANY);
		other = space_ref(s);
		add(&s, 0x1000, 101 << 12, "/b", 1);
		assert_int_equal(space_mappings(s), MANY - 99);
		check(s, 0x1800, 2, "/b", 0x900);
		for (uint64_t i = 1; i <= MANY; i += 1000)
			check(other, (i << 12) + 1, 2, "/a", (i << 12) + 1);
		space_unref(other);
		space_unref(s);
	}
}

static int setup(void **state)
{
	(void)state;
	files = files_new(NULL);
	return files ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	files_free(files);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_by_address),
		cmocka_unit_test(test_overlaps_are_cut_in_time),
		cmocka_unit_test(test_born_later_is_not_the_place),
		cmocka_unit_test(test_fork_shares_until_a_change),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_random_against_a_model),
		cmocka_unit_test(test_many_in_any_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "counting/copies.h"

#define BIAS	0x5000 /* that the copies were made for */
#define ROOM	0x9000
#define ROOM_AT 0x1000
#define MOVED	0x70000 /* the bias of another process */

/*
 * push; je, longer in the copy than in the original, with a counter behind it; a counter, that
 * keeps flags, and ret; the counter of the branch taken, with a jump. Then one of two bytes, with a
 * counter in front.
 */
static struct instrument_place first_places[] = {{0x5300, 0}, {0x5301, 1}, {0x5303, 16}};
static struct instrument_piece first_pieces[] = {
	{0x5301, 0x5301, 7},  {0x5303, INSTRUMENT_NOWHERE, 21},
	{0x5303, 0x5303, 25}, {0x5300, 0x5300, 26},
	{0x5300, 0x5300, 35},
};
static struct instrument_place second_places[] = {{0x5200, 9}, {0x5201, 10}};
static struct instrument_piece second_pieces[] = {{0x5200, 0x5200, 0}};

static const struct instrument_code codes[] = {
	{.entry = 0x5300,
	 .address = ROOM + 0x40,
	 .size = 40,
	 .places = first_places,
	 .place_count = 3,
	 .pieces = first_pieces,
	 .piece_count = 5},
	{.address = ROOM + 0x70}, /* could not be made */
	{.entry = 0x5200,
	 .address = ROOM + 0x80,
	 .size = 11,
	 .places = second_places,
	 .place_count = 2,
	 .pieces = second_pieces,
	 .piece_count = 1},
};
static const struct copies_image image = {codes, 3, BIAS, ROOM, ROOM_AT};

static struct copies *make_copies(const struct copies_image *of, uint64_t gate)
{
	struct copies *c = copies_new();
	struct copies_file file = {.inode = 7, .bias = MOVED, .gate = gate};

	assert_int_equal(copies_add_file(c, &file), -EINVAL);
	assert_int_equal(copies_add_image(c, of, &file.image), 0);
	assert_int_equal(copies_add_file(c, &file), 0);
	file.inode = 5;
	file.bias = BIAS;
	assert_int_equal(copies_add_file(c, &file), 0);
	return c;
}

/* What a sample at an offset is charged to; 0: nothing. */
static uint64_t charged(struct copies *c, uint64_t inode, uint64_t offset)
{
	uint64_t at = 0;

	return copies_find(c, inode, offset, &at) ? at : at ? UINT64_MAX : 0;
}

static void test_samples(void **state)
{
	static const struct {
		uint64_t offset, charged;
	} wanted[] = {
		{0x103f, 0},	 {0x1040, 0x300}, {0x1041, 0x301}, {0x1047, 0x301}, {0x1050, 0x303},
		{0x1055, 0x303}, {0x1059, 0x303}, {0x105a, 0x300}, {0x1063, 0x300}, {0x1068, 0},
		{0x1070, 0},	 {0x1080, 0x200}, {0x1089, 0x200}, {0x108a, 0x201},
	};
	struct copies *c = make_copies(&image, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const uint64_t at = wanted[i].charged;

		assert_int_equal(charged(c, 7, wanted[i].offset), at ? at + MOVED : 0);
		assert_int_equal(charged(c, 5, wanted[i].offset), at ? at + BIAS : 0);
		assert_int_equal(charged(c, 6, wanted[i].offset), 0);
	}
	assert_int_equal(charged(c, 7, 0x108b), 0);
	copies_free(c);
	c = make_copies(&image, 0x999);
	assert_int_equal(charged(c, 7, 0x108b), 0x999);
	assert_int_equal(charged(c, 7, 0x1070), 0);
	copies_free(c);
}

struct told {
	struct originals_run runs[16];
	unsigned count;
};

static int take_run(void *arg, const struct originals_run *run)
{
	struct told *t = arg;

	assert_true(t->count < 16);
	t->runs[t->count++] = *run;
	return 0;
}

static int refuse_run(void *arg, const struct originals_run *run)
{
	(void)run;
	return ++*(int *)arg == 2 ? -EIO : 0;
}

static void test_stacks(void **state)
{
	static const struct originals_run wanted[] = {
		{0x1040, 0x300}, /* and what follows it byte by byte */
		{0x1047, 0x301}, /* behind the branch, not four bytes into what comes next */
		{0x1050, 0x303}, /* in front of the return */
		{0x1055, NO_ORIGINAL}, {0x1059, 0x303}, /* and at it */
		{0x105a, 0x300},       {0x1063, 0x300}, {0x1068, NO_ORIGINAL},
		{0x1080, 0x200},       {0x1089, 0x200}, {0x108b, NO_ORIGINAL},
	};
	struct copies *c = make_copies(&image, 0);
	struct originals_file found;
	struct told t = {.count = 0};
	int calls = 0;

	(void)state;
	assert_true(copies_find_file(c, 7, &found));
	assert_false(copies_find_file(c, 8, &found));
	assert_int_equal(copies_each_run(c, found.image, take_run, &t), 0);
	assert_int_equal(t.count, sizeof(wanted) / sizeof(*wanted));
	for (unsigned i = 0; i < t.count; i++) {
		assert_int_equal(t.runs[i].offset, wanted[i].offset);
		if (wanted[i].original == NO_ORIGINAL)
			assert_int_equal(t.runs[i].original, NO_ORIGINAL);
		else
			assert_int_equal(found.bias + t.runs[i].original,
					 MOVED + wanted[i].original);
	}
	assert_int_equal(copies_each_run(c, found.image, refuse_run, &calls), -EIO);
	assert_int_equal(calls, 2);
	assert_int_equal(copies_each_run(c, 1, take_run, &t), -ENOENT);
	copies_free(c);
}

/* Code may lie anywhere, but not so far apart. */
static void test_far(void **state)
{
	const uint64_t far = 1ull << 40;
	struct instrument_place places[] = {{far, 0}, {far + 2, 2}};
	struct instrument_code code = {
		.address = ROOM, .size = 4, .places = places, .place_count = 2};
	const struct copies_image of = {&code, 1, 0, ROOM, ROOM_AT};
	struct originals_file found;
	struct copies *c = make_copies(&of, 0);
	uint32_t unused = 77;

	(void)state;
	assert_int_equal(charged(c, 7, 0x1002), far + 2 + MOVED);
	assert_true(copies_find_file(c, 7, &found));
	assert_int_equal(found.bias, far + MOVED);
	places[1].original = far + UINT32_MAX;
	assert_int_equal(copies_add_image(c, &of, &unused), -ERANGE);
	assert_int_equal(unused, 77);
	copies_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

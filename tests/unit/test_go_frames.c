/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Go's tables of frames, of both versions, and cut or wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "unwind/go_frames.h"

#define TEXT	0x402000
#define STEPS	80
#define LIST	128
#define SIZE	512
#define GO_1_18 0xfffffff0
#define GO_1_20 0xfffffff1

struct found {
	struct {
		uint64_t start, end;
		uint32_t depth;
	} list[16];
	size_t count;
};

static int take(void *arg, uint64_t start, uint64_t end, uint32_t depth)
{
	struct found *f = arg;

	assert_true(f->count < 16 && start < end);
	f->list[f->count].start = start;
	f->list[f->count].end = end;
	f->list[f->count++].depth = depth;
	return 0;
}

static void put(uint8_t *t, size_t at, uint64_t value, unsigned bytes)
{
	memcpy(t + at, &value, bytes);
}

/* Four functions of 32 bytes: with a frame of 24, in assembly, without a frame, and one whose steps
 * are nonsense. Returns the size. */
static size_t make(uint8_t t[SIZE], uint32_t magic)
{
	static const uint8_t steps[] = {
		0,			 /* 0 means that there are none */
		2, 4,  48, 20, 47, 8, 0, /* 0 for 4 bytes, 24 for 20, 0 for 8 */
		2, 32, 0,		 /* 0 for all */
		2, 4,  6,  20, 0,	 /* 3 is no depth */
	};
	static const uint32_t first[] = {1, 1, 8, 11};
	size_t entry = 48;

	memset(t, 0, SIZE);
	put(t, 0, magic, 4);
	t[6] = 1;
	t[7] = 8;
	put(t, 8, 4, 8);
	put(t, 24, TEXT, 8);
	put(t, 56, STEPS, 8);
	put(t, 64, LIST, 8);
	memcpy(t + STEPS, steps, sizeof(steps));
	for (unsigned i = 0; i <= 4; i++) {
		put(t, LIST + 8 * i, 32 * i, 4);
		if (i == 4)
			break;
		put(t, LIST + 8 * i + 4, entry, 4);
		put(t, LIST + entry + 16, first[i], 4);
		t[LIST + entry + (magic == GO_1_20 ? 41 : 37)] = i == 1 ? 4 : 0;
		entry += 48;
	}
	return LIST + entry;
}

static void check(const struct found *f)
{
	assert_int_equal(f->count, 5);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(f->list[i].depth, i == 1 ? 24 : 0);
	assert_int_equal(f->list[0].start, TEXT);
	assert_int_equal(f->list[1].start, TEXT + 4);
	assert_int_equal(f->list[2].start, TEXT + 24);
	assert_int_equal(f->list[2].end, TEXT + 32);
	assert_int_equal(f->list[3].start, TEXT + 64);
	assert_int_equal(f->list[3].end, TEXT + 96);
	assert_int_equal(f->list[3].depth, 0);
	/* Of the last what came before the nonsense. */
	assert_int_equal(f->list[4].end, TEXT + 100);
}

static void test_both_versions(void **state)
{
	static const uint32_t magics[] = {GO_1_18, GO_1_20};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct found f = {.count = 0};
		uint8_t t[SIZE];
		size_t size = make(t, magics[i]);

		assert_int_equal(go_frames_each(t, size, take, &f), 0);
		check(&f);
	}
}

/* In memory of its very size, so that a sanitizer sees what is read past it. */
static void test_every_cut(void **state)
{
	uint8_t t[SIZE];
	size_t size = make(t, GO_1_20);

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		struct found f = {.count = 0};
		uint8_t *copy = malloc(cut ? cut : 1);
		int r;

		assert_non_null(copy);
		memcpy(copy, t, cut);
		r = go_frames_each(copy, cut, take, &f);
		assert_true(r == 0 || r == -EBADMSG);
		assert_true(f.count <= 5);
		assert_true(cut >= LIST + 36 || r == -EBADMSG);
		free(copy);
	}
}

/* Every byte of it as something else. */
static void test_every_damage(void **state)
{
	uint8_t t[SIZE];
	size_t size = make(t, GO_1_18);

	(void)state;
	for (size_t at = 0; at < size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct found f = {.count = 0};
			uint8_t *copy = malloc(size);

			assert_non_null(copy);
			memcpy(copy, t, size);
			copy[at] ^= (uint8_t)(1u << bit);
			go_frames_each(copy, size, take, &f);
			free(copy);
		}
}

static void test_what_is_no_table(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		unsigned bytes;
	} wrong[] = {
		{0, 0xfffffffa, 4},  {4, 1, 1},
		{6, 4, 1},	     {7, 4, 1},
		{8, UINT64_MAX, 8},  {8, 1000, 8},
		{24, 0, 8},	     {56, UINT64_MAX, 8},
		{64, UINT64_MAX, 8}, {64, UINT64_MAX - 3, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct found f = {.count = 0};
		uint8_t t[SIZE];
		size_t size = make(t, GO_1_18);

		put(t, wrong[i].at, wrong[i].value, wrong[i].bytes);
		assert_int_equal(go_frames_each(t, size, take, &f), -EBADMSG);
		assert_int_equal(f.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_versions),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_every_damage),
		cmocka_unit_test(test_what_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Made-up loads that go to so many lines in so many pages: what of it can be told from touches. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/culprits/data_footprint.h"
#include "db/touches.h"
#include "util/hash.h"

#define LOAD	  0x401000u
#define DRAWS_MAX 100000u

/* A load that goes to any of the lines alike, spread evenly over the pages. */
struct load {
	uint32_t lines, pages, draws;
	uint64_t seed;
};

static size_t draw(const struct load *l, struct evidence_edge *touches)
{
	uint64_t random = l->seed, line;
	assert_true(l->draws <= DRAWS_MAX);
	for (uint32_t i = 0; i < l->draws; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		line = (random >> 33) % l->lines;
		touches[i] = (struct evidence_edge){
			.from = LOAD,
			.to = db_touch_place(hash_u64(line % l->pages ^ 0xabcdef0123456789u),
					     line / l->pages),
			.count = 1};
	}
	return data_touches_join(touches, l->draws);
}

/* As a pack keeps them. */
static size_t cut(size_t count)
{
	return count < DB_TOUCHES_MAX ? count : DB_TOUCHES_MAX;
}

static void assert_count(const struct data_count *c, double truth, double times)
{
	assert_true(c->least <= c->likely && c->likely <= c->most);
	if (c->least > 1.02 * truth || c->most < truth / 1.02 || c->likely > truth * times ||
	    c->likely * times < truth)
		fail_msg("%g: %g, from %g to %g", truth, c->likely, c->least, c->most);
}

static void lines_and_pages_are_told(void **state)
{
	/* Few and many windows: kept whole, and cut. Dense pages, and one line in each. */
	static const struct load loads[] = {
		{8192, 8192, 600, 1},	  {8192, 8192, 5000, 2},     {8192, 128, 600, 3},
		{8192, 128, 50000, 4},	  {32768, 512, 2000, 5},     {32768, 512, 100000, 6},
		{100, 100, 400, 7},	  {700, 11, 1000, 8},	     {1, 1, 50, 9},
		{32768, 32768, 3000, 10}, {200000, 3125, 20000, 11},
	};
	struct evidence_edge *touches = calloc(DRAWS_MAX, sizeof(*touches));
	struct data_footprint f;
	(void)state;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		f = data_footprint_of(touches, cut(draw(&loads[i], touches)), LOAD);
		assert_true(f.windows >= 30);
		assert_count(&f.lines, loads[i].lines, 2);
		assert_count(&f.pages, loads[i].pages, 2);
		assert_true(isfinite(f.lines.most));
	}
	free(touches);
}

static void too_little_is_not_told(void **state)
{
	static const struct load few = {8192, 8192, 29, 1}, wide = {1 << 23, 1 << 17, 500, 1};
	struct evidence_edge touches[500];
	struct data_footprint f = data_footprint_of(touches, draw(&few, touches), LOAD);
	(void)state;
	assert_true(f.windows == 0);
	/* No two alike: at least so many, and no telling how many at most. */
	f = data_footprint_of(touches, cut(draw(&wide, touches)), LOAD);
	assert_true(f.windows > 0 && isinf(f.lines.most) && f.lines.least < 1 << 23);
	assert_true(data_footprint_of(touches, draw(&wide, touches), LOAD + 1).windows == 0);
	assert_true(data_footprint_of(NULL, 0, LOAD).windows == 0);
	assert_int_equal(data_touches_join(NULL, 0), 0);
}

/* Cut in parts, put together and cut again is as cut once. */
static void parts_add_up(void **state)
{
	static const struct load l = {8192, 512, 6000, 3};
	struct evidence_edge *whole = calloc(DRAWS_MAX, sizeof(*whole));
	struct evidence_edge *parts = calloc(DRAWS_MAX, sizeof(*parts));
	struct load part = l;
	uint64_t random = l.seed;
	size_t all = draw(&l, whole), count = 0, n;
	(void)state;
	part.draws = l.draws / 3;
	for (unsigned i = 0; i < 3; i++) {
		part.seed = random;
		n = cut(draw(&part, parts + count));
		count += n;
		for (uint32_t k = 0; k < part.draws; k++)
			random = random * 6364136223846793005u + 1442695040888963407u;
	}
	count = data_touches_join(parts, count);
	assert_true(count >= DB_TOUCHES_MAX && all >= DB_TOUCHES_MAX);
	for (size_t i = 0; i < DB_TOUCHES_MAX; i++) {
		assert_true(whole[i].to == parts[i].to);
		assert_true(whole[i].count == parts[i].count);
	}
	free(whole);
	free(parts);
}

/* A database may hold anything. */
static void nonsense_does_no_harm(void **state)
{
	struct evidence_edge touches[600];
	struct data_footprint f;
	(void)state;
	for (unsigned i = 0; i < 600; i++)
		touches[i] = (struct evidence_edge){
			.from = LOAD, .to = UINT64_MAX - 1 - i / 2, .count = UINT64_MAX};
	f = data_footprint_of(touches, data_touches_join(touches, 600), LOAD);
	assert_true(f.lines.least <= f.lines.likely && f.lines.likely <= f.lines.most);
	assert_true(isfinite(f.lines.likely) && f.pages.likely > 0);
	for (unsigned i = 0; i < 600; i++)
		touches[i] = (struct evidence_edge){.from = LOAD, .to = i % 64, .count = 1000};
	f = data_footprint_of(touches, 600, LOAD);
	assert_true(isfinite(f.lines.likely) && isfinite(f.pages.likely));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_pages_are_told),
		cmocka_unit_test(too_little_is_not_told),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(nonsense_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

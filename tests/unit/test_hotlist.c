/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Hotlists: estimates are unbiased, from one stream and from merged ones; equal samples make equal
 * lists. Streams are made of fixed seeds, so a passing test passes for good; a correct list with
 * another hash would fail one of the six means below with probability 6 * 6.3e-5 = 4e-4, since each
 * has to be within four standard errors. The frequent value is exact in nearly all lists.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "util/hash.h"
#include "values/summary.h"

#define TRIALS	4000
#define SAMPLES 2000
#define HOT	7u
#define WARM	UINT64_C(0xffffffff00000001)

/* 40% HOT, 2% WARM, which is often lost, the rest of 3000 values that are hardly seen twice. */
static uint64_t draw(uint64_t *seed)
{
	const uint64_t r = hash_u64(*seed += 0xd1342543de82ef95u), part = r % 100;

	return part < 40 ? HOT : part < 42 ? WARM : 1000 + (r >> 32) % 3000;
}

static double estimate_of(const struct value_hotlist *h, uint64_t value)
{
	for (uint32_t i = 0; i < h->used; i++)
		if (h->list[i].value == value)
			return (double)h->list[i].count;
	return 0;
}

static void check_form(const struct value_hotlist *h)
{
	assert_true(h->used <= h->room);
	for (uint32_t i = 0; i < h->used; i++) {
		assert_true(h->list[i].count >= h->threshold);
		assert_true(!i || h->list[i - 1].value < h->list[i].value);
	}
}

struct mean {
	double sum, squares;
};

static void mean_add(struct mean *m, double error)
{
	m->sum += error;
	m->squares += error * error;
}

static void expect_zero(const struct mean *m, const char *what)
{
	const double mean = m->sum / TRIALS,
		     deviation = sqrt(m->squares / TRIALS - mean * mean) / sqrt(TRIALS);

	print_message("# %s: %.2f +- %.2f of %d, rms %.1f\n", what, mean, deviation, SAMPLES,
		      sqrt(m->squares / TRIALS));
	assert_true(fabs(mean) <= 4 * deviation);
}

/* What came is known exactly, so that the error of each estimate is that of the list alone. */
static void feed(struct value_hotlist *h, uint64_t *seed, unsigned count, unsigned seen[3])
{
	for (unsigned i = 0; i < count; i++) {
		const uint64_t v = draw(seed);

		seen[0] += v == HOT;
		seen[1] += v == WARM;
		seen[2] += v != HOT && v != WARM;
		value_hotlist_add(h, v);
	}
}

static void errors_of(const struct value_hotlist *h, const unsigned seen[3], struct mean errors[3])
{
	double all = 0;

	for (uint32_t i = 0; i < h->used; i++)
		all += (double)h->list[i].count;
	mean_add(&errors[0], estimate_of(h, HOT) - seen[0]);
	mean_add(&errors[1], estimate_of(h, WARM) - seen[1]);
	mean_add(&errors[2], all - estimate_of(h, HOT) - estimate_of(h, WARM) - seen[2]);
	check_form(h);
}

static void estimates_are_unbiased(void **state)
{
	struct mean errors[3] = {{0, 0}};
	uint64_t seed = 1;

	(void)state;
	for (unsigned t = 0; t < TRIALS; t++) {
		unsigned seen[3] = {0, 0, 0};
		union value_hotlist_room room;

		value_hotlist_init(&room.hot, VALUES_FEW);
		feed(&room.hot, &seed, SAMPLES, seen);
		assert_true(room.hot.samples == SAMPLES && room.hot.threshold > 1);
		errors_of(&room.hot, seen, errors);
	}
	expect_zero(&errors[0], "40%");
	expect_zero(&errors[1], "2%");
	expect_zero(&errors[2], "rest");
}

/* Lists of different lengths, so of different probabilities. */
static void merged_estimates_are_unbiased(void **state)
{
	struct mean errors[3] = {{0, 0}};
	uint64_t seed = 2;

	(void)state;
	for (unsigned t = 0; t < TRIALS; t++) {
		unsigned seen[3] = {0, 0, 0};
		union value_hotlist_room sum, part;

		value_hotlist_init(&sum.hot, VALUES_FEW);
		feed(&sum.hot, &seed, SAMPLES / 20, seen);
		for (unsigned parts = 1; parts < 4; parts++) {
			value_hotlist_init(&part.hot, parts == 3 ? VALUES_MANY : VALUES_FEW);
			feed(&part.hot, &seed, SAMPLES * 19 / 20 / 3, seen);
			value_hotlist_merge(&sum.hot, &part.hot);
		}
		assert_int_equal(sum.hot.room, VALUES_MANY);
		errors_of(&sum.hot, seen, errors);
	}
	expect_zero(&errors[0], "40%, merged");
	expect_zero(&errors[1], "2%, merged");
	expect_zero(&errors[2], "rest, merged");
}

static void few_values_are_counted_exactly(void **state)
{
	union value_hotlist_room room, part;
	uint8_t rank[VALUES_MANY];

	(void)state;
	value_hotlist_init(&room.hot, VALUES_FEW);
	value_hotlist_init(&part.hot, VALUES_FEW);
	for (unsigned i = 0; i < 10000; i++) {
		value_hotlist_add(&room.hot, i % VALUES_FEW);
		value_hotlist_add(&part.hot, i % 2 ? 5 : UINT64_MAX);
	}
	value_hotlist_add(&room.hot, 3);
	assert_int_equal(room.hot.threshold, 1);
	assert_true(room.hot.list[3].count == 626);
	value_hotlist_rank(&room.hot, rank);
	assert_int_equal(rank[0], 3);
	assert_int_equal(rank[1], 0);
	assert_int_equal(rank[15], 15);
	assert_true(part.hot.used == 2 && part.hot.list[1].value == UINT64_MAX);
	assert_true(fabs(value_hotlist_share(&part.hot, 0) - 0.5) < 1e-9);
	assert_true(fabs(value_hotlist_error(&part.hot, 0) - 0.005) < 1e-9);
}

/* The same samples in the same order, in whatever list: and cut at the same places. */
static void equal_samples_make_equal_lists(void **state)
{
	union value_hotlist_room one, two;
	uint64_t seed = 3, again = 3;
	unsigned unused[3] = {0};

	(void)state;
	memset(&one, 0x55, sizeof(one));
	memset(&two, 0xaa, sizeof(two));
	value_hotlist_init(&one.hot, VALUES_FEW);
	value_hotlist_init(&two.hot, VALUES_FEW);
	feed(&one.hot, &seed, 50000, unused);
	feed(&two.hot, &again, 50000, unused);
	assert_memory_equal(&one, &two, value_hotlist_bytes(one.hot.used));
	value_hotlist_merge(&one.hot, &two.hot);
	value_hotlist_merge(&two.hot, &two.hot);
	assert_memory_equal(&one, &two, value_hotlist_bytes(one.hot.used));
}

/* 2^40 samples and more: sums stop, and nothing loops. */
static void lists_hold_any_number_of_samples(void **state)
{
	union value_hotlist_room room;
	uint64_t seed = 4;
	unsigned unused[3] = {0};

	(void)state;
	value_hotlist_init(&room.hot, VALUES_FEW);
	feed(&room.hot, &seed, 1 << 12, unused);
	for (unsigned i = 12; i < 40; i++)
		value_hotlist_merge(&room.hot, &room.hot);
	assert_true(room.hot.samples == UINT64_C(1) << 40);
	assert_true(fabs(estimate_of(&room.hot, HOT) / (double)room.hot.samples - 0.4) < 0.05);
	check_form(&room.hot);
	for (unsigned i = 0; i < 100000; i++)
		value_hotlist_add(&room.hot, 1u << 20 | i);
	check_form(&room.hot);
	for (unsigned i = 40; i < 80; i++)
		value_hotlist_merge(&room.hot, &room.hot);
	assert_true(room.hot.samples == UINT64_MAX);
	check_form(&room.hot);
	for (unsigned i = 0; i < 100000; i++)
		value_hotlist_add(&room.hot, i);
	check_form(&room.hot);
}

static struct value_sample value(uint64_t v, uint8_t width, bool is_again, bool is_same)
{
	return (struct value_sample){v, width, is_again, is_same};
}

static void facts_are_kept_without_contents(void **state)
{
	union value_summary_room room, other;
	struct value_summary *s = &room.summary;
	const struct value_sample samples[] = {
		value(0, 2, false, false), value(0xffffff80, 2, true, true), /* -128 */
		value(0xff, 2, true, false),
		value(0x10000, 3, false, true), /* the last counts with is_again only */
	};

	(void)state;
	value_summary_init(s, VALUES_FEW);
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		value_summary_add(s, VALUE_LOADED, &samples[i], false);
	assert_true(s->samples == 4 && s->zeros == 1 && s->negatives == 1);
	assert_true(s->again == 2 && s->same == 1 && s->width == 3 && s->aligned == 0);
	assert_true(s->fits[0] == 3 && s->fits[1] == 3 && s->fits[2] == 4);
	assert_true(!s->low && !s->high && !s->hot.samples && !s->hot.used);
	other = room;
	value_summary_init(s, VALUES_FEW);
	value_summary_add(s, VALUE_LOADED, &samples[1], true);
	value_summary_add(s, VALUE_LOADED, &samples[3], true);
	value_summary_merge(s, &other.summary, VALUE_LOADED);
	assert_true(s->samples == 6 && s->hot.samples == 2 && s->hot.used == 2);
	assert_true(s->low == 0x10000 && s->high == 0xffffff80 && s->again == 3);
	value_summary_init(s, VALUES_FEW);
	for (int64_t stride = -64; stride <= 64; stride += 64) {
		const struct value_sample v = value((uint64_t)stride, 3, false, false);

		value_summary_add(s, VALUE_STRIDE, &v, true);
	}
	assert_true((int64_t)s->low == -64 && s->high == 64 && s->aligned == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_unbiased),
		cmocka_unit_test(merged_estimates_are_unbiased),
		cmocka_unit_test(few_values_are_counted_exactly),
		cmocka_unit_test(equal_samples_make_equal_lists),
		cmocka_unit_test(lists_hold_any_number_of_samples),
		cmocka_unit_test(facts_are_kept_without_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

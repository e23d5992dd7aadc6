/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What instruction samples add up to, and how good that is: samples are drawn of instructions whose
 * numbers, rates and latencies are known, and 68% of the truth must be where the ranges say, as in
 * section 5.1 of ProfileMe. Of so many draws the share is off by 3% or more once in 10,000 times
 * where the ranges are right; the draws are always the same ones.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/inst/tally.h"
#include "inst_feed.h"

#define INSTRUCTIONS 4000
#define PERIOD	     1000
#define NEAR	     0.03

static const struct image_id images[] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
};
static const struct db_event op = {.name = "ibs_op//", .period = PERIOD};

#define FIELDS (1u << INST_EVENTS | 1u << INST_CYCLES_LOAD_DATA)

static struct db_inst_item item_of(uint64_t offset, uint32_t events, uint32_t cycles)
{
	return (struct db_inst_item){
		.image = &images[0],
		.path = {"path", 4},
		.event = &op,
		.form = {.source = INST_IBS_OP,
			 .known = {INST_BIT(INST_RETIRED) | INST_BIT(INST_DCACHE_MISS), 0},
			 .fields = FIELDS},
		.offset = offset,
		.count = 1,
		.values = {events, cycles},
	};
}

static void add(struct inst_tally *t, uint64_t offset, uint32_t events, uint32_t cycles)
{
	struct db_inst_item item = item_of(offset, events, cycles);

	assert_int_equal(inst_tally_add(t, "", &item), 0);
}

static double uniform(uint64_t *seed)
{
	return (double)(inst_feed_random(seed) >> 11) / (double)(UINT64_C(1) << 53);
}

/* What is true of an instruction. */
struct truth {
	double times;	     /* that it ran */
	double miss, cycles; /* the share of misses; the mean latency */
};

static struct truth truth_of(unsigned i)
{
	return (struct truth){PERIOD * (30.0 + i % 400), (1 + i % 97) / 100.0, 20 + i % 31};
}

/* Of each time that it ran one in PERIOD, by chance, is sampled: so many are a Poisson's number,
 * the distances of whose samples are exponential. Latencies are, too. */
static void sample_one(struct inst_tally *t, unsigned i, uint64_t *seed)
{
	struct truth is = truth_of(i);
	double at = -PERIOD * log(1 - uniform(seed));

	for (; at < is.times; at -= PERIOD * log(1 - uniform(seed))) {
		uint32_t events = INST_BIT(INST_RETIRED);
		double cycles = -is.cycles * log(1 - uniform(seed));

		if (uniform(seed) < is.miss)
			events |= INST_BIT(INST_DCACHE_MISS);
		add(t, i, events, (uint32_t)(cycles + uniform(seed)));
	}
}

static bool is_inside(const struct inst_share *s, double truth)
{
	return truth >= s->low && truth <= s->high;
}

static void ranges_hold_what_they_say(void **state)
{
	struct inst_tally t = {.has_buckets = true};
	double counts = 0, misses = 0, shares = 0, means = 0, totals = 0, bias = 0;
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(inst_tally_init(&t), 0);
	for (unsigned i = 0; i < INSTRUCTIONS; i++)
		sample_one(&t, i, &seed);
	inst_tally_sort(&t);
	assert_int_equal(t.row_count, INSTRUCTIONS);
	for (unsigned i = 0; i < INSTRUCTIONS; i++) {
		const struct inst_row *r = &t.rows[i];
		const struct inst_latency *l =
			r->latencies[INST_CYCLES_LOAD_DATA - INST_LATENCY_FIRST];
		struct truth is = truth_of(i);
		uint64_t k = r->happened[INST_DCACHE_MISS], n = r->known[INST_DCACHE_MISS];
		struct inst_share count = inst_count_of(r->samples, r->units);
		struct inst_share miss = inst_count_of(k, r->happened_units[INST_DCACHE_MISS]);
		struct inst_share share = inst_share_of(k, n), mean = inst_latency_mean(l);
		struct inst_share total = inst_latency_total(l);

		assert_true(r->offset == i && r->known[INST_LOAD] == 0);
		assert_true(r->happened[INST_RETIRED] == r->samples && l->count == r->samples);
		counts += is_inside(&count, is.times);
		misses += is_inside(&miss, is.times * is.miss);
		shares += is_inside(&share, is.miss);
		means += is_inside(&mean, is.cycles);
		totals += is_inside(&total, is.times * is.cycles);
		bias += (share.value - is.miss) / is.miss;
	}
	print_message("# inside: counts %.3f, misses %.3f, shares %.3f, means %.3f, totals %.3f\n",
		      counts / INSTRUCTIONS, misses / INSTRUCTIONS, shares / INSTRUCTIONS,
		      means / INSTRUCTIONS, totals / INSTRUCTIONS);
	assert_true(fabs(counts / INSTRUCTIONS - 0.6827) < NEAR);
	assert_true(fabs(misses / INSTRUCTIONS - 0.6827) < NEAR);
	assert_true(fabs(shares / INSTRUCTIONS - 0.6827) < NEAR);
	assert_true(fabs(means / INSTRUCTIONS - 0.6827) < NEAR);
	assert_true(fabs(totals / INSTRUCTIONS - 0.6827) < NEAR);
	assert_true(fabs(bias / INSTRUCTIONS) < 0.01);
	inst_tally_free(&t);
}

/* A range that is a third too narrow is noticed. */
static void ranges_that_are_too_narrow_are_seen(void **state)
{
	double inside = 0;
	uint64_t seed = 2;

	(void)state;
	for (unsigned i = 0; i < INSTRUCTIONS; i++) {
		struct truth is = truth_of(i);
		uint64_t k = 0;
		struct inst_share s;

		for (double at = -PERIOD * log(1 - uniform(&seed)); at < is.times;
		     at -= PERIOD * log(1 - uniform(&seed)))
			k++;
		s = inst_count_of(k, (double)k * PERIOD);
		s.low = s.value - (s.value - s.low) / 1.5;
		s.high = s.value + (s.high - s.value) / 1.5;
		inside += is_inside(&s, is.times);
	}
	assert_true(inside / INSTRUCTIONS < 0.6827 - 2 * NEAR);
}

static void few_samples_say_little(void **state)
{
	struct inst_share s = inst_share_of(0, 0);

	(void)state;
	assert_true(s.low == 0 && s.high == 1);
	s = inst_share_of(0, 1);
	assert_true(s.value == 0 && s.low == 0 && s.high > 0.4);
	s = inst_share_of(1, 1);
	assert_true(s.value == 1 && s.high == 1 && s.low < 0.6);
	s = inst_count_of(0, 0);
	assert_true(s.value == 0 && s.low == 0 && s.high == 0);
	s = inst_count_of(4, 4000);
	assert_true(s.low == 2000 && s.high == 6000);
}

/* The quantiles of 1 to 1000 and of one large number, to within the width of a bucket. */
static void distributions_are_known_to_an_eighth(void **state)
{
	struct inst_tally t = {.has_buckets = true};
	const struct inst_latency *l;

	(void)state;
	assert_int_equal(inst_tally_init(&t), 0);
	for (uint32_t i = 1; i <= 1000; i++)
		add(&t, 0, 0, i);
	add(&t, 1, 0, UINT32_MAX);
	add(&t, 2, 0, 3);
	inst_tally_sort(&t);
	l = t.rows[0].latencies[INST_CYCLES_LOAD_DATA - INST_LATENCY_FIRST];
	for (unsigned percent = 1; percent <= 100; percent++)
		assert_true(fabs(inst_latency_quantile(l, percent / 100.0) / (10.0 * percent) -
				 1) <= 0.125 + 1e-9);
	assert_true(l->least == 1 && l->most == 1000 && l->sum == 500500);
	l = t.rows[1].latencies[INST_CYCLES_LOAD_DATA - INST_LATENCY_FIRST];
	assert_int_equal(inst_latency_quantile(l, 0.5), UINT32_MAX);
	l = t.rows[2].latencies[INST_CYCLES_LOAD_DATA - INST_LATENCY_FIRST];
	assert_int_equal(inst_latency_quantile(l, 0.5), 3);
	inst_tally_free(&t);
}

/* By image, place and event; counts are times; only what is asked for; unknown fields pass. */
static void samples_are_told_apart(void **state)
{
	const struct db_event fetch = {.name = "ibs_fetch//", .period = 7};
	struct inst_tally all = {.rows = NULL},
			  part = {.image = &images[0], .start = 16, .size = 8};
	struct db_inst_item items[5];

	(void)state;
	assert_int_equal(inst_tally_init(&all), 0);
	assert_int_equal(inst_tally_init(&part), 0);
	for (unsigned i = 0; i < 5; i++)
		items[i] = item_of(16, INST_BIT(INST_RETIRED), 4);
	items[1].image = &images[1];
	items[2].offset = 24;
	items[3].event = &fetch;
	items[4].count = 5;
	items[4].form.fields = 1 | UINT64_C(1) << INST_CYCLES_LOAD_DATA | UINT64_C(1) << 63;
	items[4].values[2] = 99;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(inst_tally_add(&all, "", &items[i]), 0);
		assert_int_equal(inst_tally_add(&part, "", &items[i]), 0);
	}
	inst_tally_sort(&all);
	assert_true(all.row_count == 4 && all.samples == 9 && part.row_count == 2);
	assert_true(all.rows[0].samples == 6 && all.rows[0].units == 6 * PERIOD);
	assert_true(all.rows[1].units == 7 && all.rows[2].offset == 24 && all.rows[3].image == 1);
	assert_int_equal(all.event_count, 2);
	assert_true(part.samples == 7);
	inst_tally_free(&all);
	inst_tally_free(&part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_hold_what_they_say),
		cmocka_unit_test(ranges_that_are_too_narrow_are_seen),
		cmocka_unit_test(few_samples_say_little),
		cmocka_unit_test(distributions_are_known_to_an_eighth),
		cmocka_unit_test(samples_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include "analyze/compare/chance.h"
#include "analyze/compare/stats.h"

#define NEAR(a, b, error) assert_true(fabs((a) - (b)) <= (error))

/* A generator of its own, so that every run draws the same: xorshift64* (Vigna). */
static uint64_t state;

static double draw(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * 0x2545f4914f6cdd1dULL) >> 11) / 9007199254740992.0;
}

/* Poisson: by counting arrivals; a large mean as the sum of smaller ones. */
static uint64_t draw_poisson(double mean)
{
	uint64_t n = 0;

	for (; mean > 0; mean -= 500) {
		double left = exp(-(mean < 500 ? mean : 500)), product = draw();

		for (; product > left; product *= draw())
			n++;
	}
	return n;
}

/* Values from tables of the distributions. */
static void test_distributions(void **unused)
{
	double low, high;

	(void)unused;
	NEAR(chance_gamma_above(0.5, 3.841459 / 2), 0.05, 1e-7);
	NEAR(chance_gamma_above(3.5, 14.06714 / 2), 0.05, 1e-7);
	NEAR(chance_gamma_above(49.5, 123.2252 / 2), 0.05, 1e-6);
	NEAR(chance_gamma_above(1, 40), exp(-40), 1e-28);
	NEAR(chance_gamma_above(2, 0), 1, 0);
	NEAR(chance_beta_below(2, 3, 0.4), 0.5248, 1e-12);
	NEAR(chance_beta_below(3, 2, 0.6), 1 - 0.5248, 1e-12);
	NEAR(chance_binomial(5, 10, 0.5), 1, 0);
	NEAR(chance_binomial(0, 10, 0.5), 2.0 / 1024, 1e-12);
	NEAR(chance_binomial(10, 10, 0.5), 2.0 / 1024, 1e-12);
	NEAR(chance_binomial(60, 100, 0.5), 2 * 0.02844397, 1e-7);
	NEAR(chance_binomial(0, 0, 0.5), 1, 0);
	/* Where the normal takes over, both agree: 1% away from the middle of 40000 and a bit. */
	NEAR(chance_binomial(20200, 40000, 0.5), chance_binomial(20201, 40002, 0.5), 5e-4);
	chance_poisson_interval(0, &low, &high);
	NEAR(low, 0, 0);
	NEAR(high, 3.689, 0.05);
	chance_poisson_interval(10, &low, &high);
	NEAR(low, 4.795, 0.05);
	NEAR(high, 18.39, 0.05);
}

static void test_adjustment(void **unused)
{
	double p[] = {0.04, 0.001, 0.03, 0.8};

	(void)unused;
	assert_int_equal(chance_adjust(p, 4), 0);
	NEAR(p[1], 0.004, 1e-12);
	NEAR(p[0], 0.16 / 3, 1e-12);
	NEAR(p[2], 0.16 / 3, 1e-12);
	NEAR(p[3], 0.8, 1e-12);
	assert_int_equal(chance_adjust(p, 0), 0);
}

static struct stats *new_stats(size_t sets)
{
	struct stats *s;

	assert_int_equal(stats_new(sets, &s), 0);
	return s;
}

/* The numbers of the paper's smooth_ in Figure 3, where the sets' totals and its range are given.
 */
static void test_figure_3(void **unused)
{
	static const uint64_t totals[] = {860301, 862645, 871952, 870780,
					  942929, 893154, 890969, 951871};
	/* Least, most and sum are the paper's; the six between are made up to fit. */
	static const uint64_t smooth[] = {38155, 40000, 45000, 46000, 75000, 52000, 56810, 88075};
	struct stats *s = new_stats(8);
	const struct stats_row *row;

	(void)unused;
	assert_int_equal(stats_add_row(s), 0);
	for (size_t i = 0; i < 8; i++) {
		stats_set(s, i, &(struct stats_set){totals[i], 1});
		stats_count(s, 0, i, smooth[i]);
	}
	assert_int_equal(stats_finish(s, false, 0.05), 0);
	row = stats_row_at(s, 0);
	NEAR(row->range_share, 0.1132, 0.00005);
	NEAR(row->sum, 441040, 0);
	NEAR(row->sum_share, 0.0617, 0.00005);
	NEAR(row->mean, 55130, 0);
	NEAR(row->least, 38155, 0);
	NEAR(row->most, 88075, 0);
	NEAR(row->sampling, sqrt(55130), 0.01);
	assert_true(row->varies && row->chance < 1e-9 && row->present == 8);
	stats_free(s);
}

/* A set that was watched twice as long has twice the samples: no variation by weight. */
static void test_weights(void **unused)
{
	struct stats *s = new_stats(3);

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		stats_set(s, i, &(struct stats_set){1000u << i, 1.0 / (1u << i)});
		stats_add_row(s);
	}
	for (size_t i = 0; i < 3; i++) {
		stats_count(s, 0, i, 100u << i);
		stats_count(s, 1, i, 100);
	}
	assert_int_equal(stats_finish(s, false, 0.05), 0);
	NEAR(stats_row_at(s, 0)->deviation, 0, 1e-9);
	NEAR(stats_row_at(s, 0)->sum, 300, 1e-9);
	NEAR(stats_row_at(s, 0)->chance, 1, 1e-6);
	assert_true(stats_row_at(s, 1)->varies);
	/* A row that no set has. */
	NEAR(stats_row_at(s, 2)->chance, 1, 0);
	NEAR(stats_row_at(s, 2)->range_share, 0, 0);
	stats_free(s);
}

static void test_refusals(void **unused)
{
	struct stats *s;

	(void)unused;
	assert_int_equal(stats_new(0, &s), -EINVAL);
	assert_int_equal(stats_new(STATS_SETS_MAX + 1, &s), -EINVAL);
	s = new_stats(1);
	assert_int_equal(stats_add_row(s), 0);
	stats_count(s, 0, 0, 7);
	assert_int_equal(stats_finish(s, false, 0.05), 0);
	NEAR(stats_row_at(s, 0)->deviation, 0, 0);
	NEAR(stats_row_at(s, 0)->chance, 1, 0);
	stats_free(s);
}

#define ROWS 40

/* Means from 0.3 to 20000 samples a set, as functions of a profile have them. */
static double mean_of(size_t row)
{
	return 0.3 * pow(1.33, (double)row);
}

struct outcome {
	unsigned any, low, tables, tests; /* low: chance below 1% */
	unsigned found, truly, mistaken;  /* rows marked rightly, to be marked, marked wrongly */
	unsigned found_of[ROWS];	  /* of found, by row */
	unsigned rare_few, few; /* rows of 8 samples a set or less: chance below 0.1%, tests */
	double false_share;	/* sum over the tables of what is false of the rows marked */
};

/* Tables in which nothing but sampling varies, but for every eighth row where varied > 0. */
static struct outcome simulate(size_t sets, unsigned tables, const double *weights, double varied)
{
	struct outcome o = {.tables = tables};

	for (unsigned t = 0; t < tables; t++) {
		struct stats *s = new_stats(sets);
		unsigned marked = 0, all = 0;

		for (size_t i = 0; i < sets; i++)
			stats_set(s, i, &(struct stats_set){100000, weights ? weights[i] : 1});
		for (size_t row = 0; row < ROWS; row++) {
			stats_add_row(s);
			for (size_t i = 0; i < sets; i++) {
				double mean = mean_of(row) / (weights ? weights[i] : 1);

				if (varied > 0 && row % 8 == 7)
					mean *= 1 + varied * (i % 2 ? 1 : -1);
				stats_count(s, row, i, draw_poisson(mean));
			}
		}
		assert_int_equal(stats_finish(s, false, 0.05), 0);
		for (size_t row = 0; row < ROWS; row++) {
			const struct stats_row *r = stats_row_at(s, row);
			bool truly = varied > 0 && row % 8 == 7;

			all += r->varies;
			marked += r->varies && !truly;
			o.few += !truly && mean_of(row) <= 8;
			o.rare_few += !truly && mean_of(row) <= 8 && r->chance < 0.001;
			o.found += r->varies && truly;
			o.found_of[row] += r->varies && truly;
			o.truly += truly;
			o.tests += !truly;
			o.low += !truly && r->chance < 0.01;
		}
		o.any += marked > 0;
		o.false_share += all ? (double)marked / all : 0;
		o.mistaken += marked;
		stats_free(s);
	}
	return o;
}

/* The stated rates hold within what so many tables can tell (three deviations). */
static void check_rates(const struct outcome *o)
{
	double tables = o->tables, tests = o->tests;

	assert_true(o->any <= 0.05 * tables + 3 * sqrt(0.05 * 0.95 * tables));
	assert_true(o->low <= 0.01 * tests + 3 * sqrt(0.01 * 0.99 * tests));
}

static void test_false_alarms(void **unused)
{
	static const double weights[] = {1, 2, 0.5, 1.1, 0.9};
	struct outcome o;

	(void)unused;
	state = 88172645463325252ULL;
	o = simulate(2, 300, NULL, 0);
	check_rates(&o);
	o = simulate(5, 200, weights, 0);
	check_rates(&o);
	o = simulate(8, 200, NULL, 0);
	check_rates(&o);
	o = simulate(50, 30, NULL, 0);
	check_rates(&o);
	/* Not by marking nothing: the test has about the level that it states. */
	state = 1234567;
	o = simulate(8, 200, NULL, 0);
	assert_true(o.low > 0.004 * o.tests);
}

/*
 * The expected share of false ones among the marked, table by table, is at most what is stated; and
 * the far tail, which decides it, holds where samples are few.
 */
static void test_false_share(void **unused)
{
	static const size_t sets[] = {2, 4, 8, 20};

	(void)unused;
	state = 271828182845904523ULL;
	for (size_t i = 0; i < 4; i++) {
		unsigned tables = 2000 / (unsigned)sets[i] + 200;
		struct outcome o = simulate(sets[i], tables, NULL, 0.2);
		double rare = 0.001 * o.few;

		/* A share is at most 1, so its variance at most its mean; a table has 5 to mark. */
		assert_true(o.false_share / tables <= 0.05 + 3 * sqrt(0.05 / 6 / tables));
		assert_true(o.rare_few <= rare + 3 * sqrt(rare));
	}
}

/* For equal shares X^2 of n over k has the third moment 4 (k - 1) (n - 1) (k + 2n - 6) / n^2. */
static void test_dispersion(void **unused)
{
	struct chance_sets equal = {5, 0.2, 0.04, 25, 125};
	double variance = 8 * (1 - 1.0 / 12), third = 4 * 4 * 11 * 23 / 144.0;
	double shape = 4 * pow(variance, 3) / (third * third), scale = third / 2 / variance;

	(void)unused;
	for (double x = 0; x < 30; x += 0.5)
		NEAR(chance_dispersion(x, 12, &equal),
		     chance_gamma_above(shape, (x - 5.0 / 12 - 4) / scale + shape), 1e-9);
	/* Of many samples it is chi-square. */
	NEAR(chance_dispersion(9.487729, 1e6, &equal), 0.05, 1e-5);
}

static void test_power(void **unused)
{
	struct outcome o;

	(void)unused;
	state = 42;
	/* 20% up and down: rows 7, 15, 23, 31, 39 have 2, 21, 211, 2060, 20000 samples a set. */
	o = simulate(8, 100, NULL, 0.2);
	assert_true(o.found >= 0.6 * o.truly);
	assert_true(o.found_of[23] >= 97 && o.found_of[31] == 100 && o.found_of[39] == 100);
	assert_true(o.found_of[7] <= 10); /* of two samples nothing can be said */
	assert_true(o.mistaken <=
		    0.05 * (o.mistaken + o.found) + 3 * sqrt(0.05 * (o.mistaken + o.found)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distributions), cmocka_unit_test(test_adjustment),
		cmocka_unit_test(test_figure_3),      cmocka_unit_test(test_weights),
		cmocka_unit_test(test_refusals),      cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_power),	      cmocka_unit_test(test_false_share),
		cmocka_unit_test(test_dispersion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

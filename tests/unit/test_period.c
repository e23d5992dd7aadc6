/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The period generator by itself, and in a simulation of a program locked to the sampling rate.
 *
 * The seeds are fixed, so no test here can fail by chance. With other seeds the bounds of 3
 * standard errors would be passed by a right generator in 0.27% of the normal comparisons (mean,
 * correlation), and in 0.74% of those whose error is taken from 20 repetitions (Student's t, 19
 * degrees of freedom).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/events/period.h"

#define NOMINAL 1000000 /* 1 kHz on a clock */
#define RATE	1000.0
#define DRAWS	100000

static struct period make(uint64_t seed, uint64_t stream)
{
	struct period p;

	period_init(&p, NOMINAL, RATE, PERIOD_WIDTH_DEFAULT, seed, stream);
	return p;
}

static void test_range(void **state)
{
	struct period p = make(1, 0);
	uint64_t least = UINT64_MAX, most = 0, span = p.high - p.low;

	(void)state;
	assert_in_range(p.low, NOMINAL * 0.87, NOMINAL * 0.89);
	assert_in_range(p.high, NOMINAL * 1.11, NOMINAL * 1.14);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t v = period_draw(&p);

		assert_in_range(v, p.low, p.high);
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	assert_true(least - p.low < span / 1000 && p.high - most < span / 1000);
	for (int i = 0; i < 1000; i++)
		assert_in_range(period_draw_interval_ns(&p), PERIOD_DRAW_MIN_NS / 2,
				PERIOD_DRAW_MIN_NS * 3 / 2);
}

/* E[1/P'] is 1/P, raised by the half sample that each interval of n = 250 samples loses. */
static void test_mean_rate(void **state)
{
	struct period p = make(2, 0);
	double sum = 0, squares = 0, mean, error;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		double rate = (double)NOMINAL / (double)period_draw(&p);

		sum += rate;
		squares += rate * rate;
	}
	mean = sum / DRAWS;
	error = sqrt((squares / DRAWS - mean * mean) / DRAWS);
	assert_true(fabs(mean - (1 + 0.5 / 250)) < 3 * error);
	assert_true(error < 0.001);
}

/* Correlation of two sequences, in standard errors of no correlation. */
static double correlation(const double *a, const double *b, int n)
{
	double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;

	for (int i = 0; i < n; i++) {
		ma += a[i] / n;
		mb += b[i] / n;
	}
	for (int i = 0; i < n; i++) {
		aa += (a[i] - ma) * (a[i] - ma);
		bb += (b[i] - mb) * (b[i] - mb);
		ab += (a[i] - ma) * (b[i] - mb);
	}
	return ab / sqrt(aa * bb) * sqrt(n);
}

static void test_independence(void **state)
{
	static double a[DRAWS + 1], b[DRAWS + 1];
	struct period p = make(3, 0), q = make(3, 1), again = make(3, 0), other = make(4, 0);
	int same = 0;

	(void)state;
	for (int i = 0; i <= DRAWS; i++) {
		a[i] = (double)period_draw(&p);
		b[i] = (double)period_draw(&q);
		assert_true(a[i] == (double)period_draw(&again));
		same += a[i] == (double)period_draw(&other);
	}
	assert_true(same < DRAWS / 1000);
	assert_true(fabs(correlation(a, a + 1, DRAWS)) < 3);
	assert_true(fabs(correlation(a, b, DRAWS)) < 3);
	assert_true(fabs(correlation(a, b + 1, DRAWS)) < 3);
}

static void test_limits(void **state)
{
	struct period p;

	(void)state;
	period_init(&p, 1, 1e9, 0.5, 0, 0);
	assert_true(p.low >= 1 && p.high >= p.low && p.high <= 2);
	period_init(&p, INT64_MAX / 2, 0, 9, 0, 0);
	assert_true(p.high > p.low && p.high < INT64_MAX);
	period_init(&p, 12345, 100, 0, 0, 0);
	assert_true(period_draw(&p) == 12345 && period_draw(&p) == 12345);
	/* At 100 Hz the interval grows, or most samples would be cut off by redraws. */
	assert_int_equal(p.draw_interval_ns, 640000000);
}

/* A program that spends the first SHARE of each round of loop_ns in phase A. */
#define SHARE		0.3
#define SECONDS		60
#define REPETITIONS	20
#define REPETITIONS_MAX 400

enum how { HOW_FIXED, HOW_RANDOM, HOW_RANDOM_AT_REGULAR_TIMES };

/* Share of samples that phase A gets in one run; also counts the samples. */
static double simulate_run(double loop_ns, enum how how, uint64_t seed, double *ret_samples)
{
	struct period p = make(seed, 0);
	double now = 0, hits = 0, samples = 0;

	while (now < SECONDS * 1e9) {
		uint64_t period = how == HOW_FIXED ? NOMINAL : period_draw(&p);
		double end = now + (how == HOW_RANDOM ? (double)period_draw_interval_ns(&p)
						      : PERIOD_DRAW_MIN_NS);
		double at = now + (double)period;

		for (; at <= end; at += (double)period, samples++)
			hits += fmod(at, loop_ns) < SHARE * loop_ns;
		/* Nothing restarts a fixed period. */
		now = how == HOW_FIXED ? at - (double)period : end;
	}
	*ret_samples = samples;
	return hits / samples;
}

/* True when A's mean share over independent runs is within 3 of its standard errors of the truth.
 */
static bool is_fair_over(int repetitions, double loop_ns, enum how how, double *ret_error)
{
	double shares[REPETITIONS_MAX], samples, mean = 0, variance = 0;

	for (int i = 0; i < repetitions; i++) {
		shares[i] = simulate_run(loop_ns, how, 1000 + (uint64_t)i, &samples);
		mean += shares[i] / repetitions;
	}
	for (int i = 0; i < repetitions; i++)
		variance += (shares[i] - mean) * (shares[i] - mean) / (repetitions - 1);
	*ret_error = sqrt(variance / repetitions);
	return fabs(mean - SHARE) <= 3 * *ret_error;
}

static bool is_fair(double loop_ns, enum how how, double *ret_error)
{
	return is_fair_over(REPETITIONS, loop_ns, how, ret_error);
}

static void test_locked_program(void **state)
{
	static const double locked[] = {1, 2, 0.5, 3, 1 / 3., 2 / 3., 1.5, 1.25, 1 / 16.};
	double error;

	(void)state;
	for (size_t i = 0; i < sizeof(locked) / sizeof(locked[0]); i++) {
		assert_true(is_fair(locked[i] * NOMINAL, HOW_RANDOM, &error));
		/* So small an error that unfairness of 1% would show. */
		assert_true(error < 0.0034);
		assert_false(is_fair(locked[i] * NOMINAL, HOW_FIXED, &error));
	}
	/* Loops near the nominal rate, and in step with nothing. */
	assert_true(is_fair(1.003 * NOMINAL, HOW_RANDOM, &error));
	assert_true(is_fair(0.95 * NOMINAL, HOW_RANDOM, &error));
	assert_true(is_fair(1.6180339887 * NOMINAL, HOW_RANDOM, &error));
}

/* Random periods are not enough when redraws are in step with the program too. */
static void test_regular_redraws_are_unfair(void **state)
{
	double error;

	(void)state;
	/* A small unfairness, as few intervals are nearly locked: it takes many runs to show. */
	assert_false(is_fair_over(REPETITIONS_MAX, NOMINAL, HOW_RANDOM_AT_REGULAR_TIMES, &error));
	assert_true(is_fair_over(REPETITIONS_MAX, NOMINAL, HOW_RANDOM, &error));
}

/* With the half sample that each redraw costs, the rate is the nominal one, to 0.2%. */
static void test_simulated_rate(void **state)
{
	double samples, sum = 0;

	(void)state;
	for (uint64_t i = 0; i < REPETITIONS; i++) {
		simulate_run(NOMINAL * 0.7, HOW_RANDOM, i, &samples);
		sum += samples;
	}
	assert_true(fabs(sum / (REPETITIONS * SECONDS * RATE) - 1) < 0.002);
}

static void test_another_rate(void **state)
{
	(void)state;
	assert_int_equal(period_at(1000000, 0.5), 2000000);
	assert_int_equal(period_at(1000000, 4), 250000);
	assert_int_equal(period_at(3, 4), 1);
	assert_int_equal(period_at(1, 1000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_mean_rate),
		cmocka_unit_test(test_independence),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_locked_program),
		cmocka_unit_test(test_regular_redraws_are_unfair),
		cmocka_unit_test(test_simulated_rate),
		cmocka_unit_test(test_another_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

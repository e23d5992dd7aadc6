/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/chance.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TERMS_MAX	200000
#define TINY		1e-300
#define NEAR		1e-14
#define VARIANCE_NORMAL 1e4
/* So many samples a set, and X^2 is chi-square. */
#define MANY_SAMPLES 100
#define NORMAL_95    1.959963984540054

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* P(a, x) by its power series (Abramowitz and Stegun 6.5.29); quick for x < a + 1. */
static double gamma_below_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int i = 1; i < TERMS_MAX && term > sum * NEAR; i++) {
		term *= x / (a + i);
		sum += term;
	}
	return sum * exp(a * log(x) - x - log_gamma(a));
}

/* One step of Lentz's evaluation of a continued fraction, as Thompson and Barnett modified it. */
struct fraction {
	double value, c, d;
};

static double fraction_step(struct fraction *f, double numerator, double denominator)
{
	double step;

	f->d = denominator + numerator * f->d;
	f->c = denominator + numerator / f->c;
	f->d = 1 / (fabs(f->d) < TINY ? TINY : f->d);
	f->c = fabs(f->c) < TINY ? TINY : f->c;
	step = f->c * f->d;
	f->value *= step;
	return step;
}

/* Q(a, x) by its continued fraction (6.5.31, even part); quick for x > a + 1. */
static double gamma_above_fraction(double a, double x)
{
	double b = x + 1 - a;
	struct fraction f = {1 / b, 1 / TINY, 1 / b};

	for (int i = 1; i < TERMS_MAX; i++) {
		b += 2;
		if (fabs(fraction_step(&f, -i * (i - a), b) - 1) < NEAR)
			break;
	}
	return f.value * exp(a * log(x) - x - log_gamma(a));
}

double chance_gamma_above(double a, double x)
{
	double above;

	if (!(x > 0))
		return 1;
	above = x < a + 1 ? 1 - gamma_below_series(a, x) : gamma_above_fraction(a, x);
	return above < 0 ? 0 : above > 1 ? 1 : above;
}

/* The continued fraction of I_x(a, b) (26.5.8); quick for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	struct fraction f = {1, 1, 0};
	double step;

	f.d = 1 - (a + b) * x / (a + 1);
	f.d = 1 / (fabs(f.d) < TINY ? TINY : f.d);
	f.value = f.d;
	for (int i = 1; i < TERMS_MAX; i++) {
		double m = i, two = a + 2 * m;

		fraction_step(&f, m * (b - m) * x / ((two - 1) * two), 1);
		step = fraction_step(&f, -(a + m) * (a + b + m) * x / (two * (two + 1)), 1);
		if (fabs(step - 1) < NEAR)
			break;
	}
	return f.value;
}

double chance_beta_below(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* n (n - 1) ... of m factors. */
static long double falling(long double n, int m)
{
	long double product = 1;

	for (int i = 0; i < m; i++)
		product *= n - i;
	return product;
}

/*
 * E[Y^2] and E[Y^3] of Y = sum of x^2/p, x multinomial: the powers of x as factorial moments, which
 * of x, y, z are n (n - 1) ... p^a q^b r^c. By how many of the sets are different.
 */
static void dispersion_moments(double n, const struct chance_sets *s, long double ret[2])
{
	const long double k = s->count, p2 = s->squares, p3 = s->cubes, inverse = s->inverse;
	long double f[7], pairs, triples;

	for (int m = 0; m < 7; m++)
		f[m] = falling(n, m);
	ret[0] = f[4] * p2 + 6 * f[3] + 7 * f[2] * k + f[1] * inverse + f[4] * (1 - p2) +
		 2 * f[3] * (k - 1) + f[2] * k * (k - 1);
	ret[1] = f[6] * p3 + 15 * f[5] * p2 + 65 * f[4] + 90 * f[3] * k + 31 * f[2] * inverse +
		 f[1] * s->inverse_squares;
	pairs = f[6] * (p2 - p3) + f[5] * (p2 * (k - 1) + 6 * (1 - p2)) + 13 * f[4] * (k - 1) +
		f[3] * (7 * k * (k - 1) + inverse - k) + f[2] * (k - 1) * inverse;
	triples = f[6] * (1 - 3 * p2 + 2 * p3) + 3 * f[5] * (1 - p2) * (k - 2) +
		  3 * f[4] * (k - 1) * (k - 2) + f[3] * k * (k - 1) * (k - 2);
	ret[1] += 3 * pairs + triples;
}

double chance_dispersion(double square, double n, const struct chance_sets *s)
{
	double k = s->count, df = k - 1, third = 8 * df, shape, scale;
	double variance = 2 * df + (s->inverse - k * k - 2 * k + 2) / n;

	if (n < MANY_SAMPLES * k) {
		long double mean = n * (n - 1) + n * k, e[2];

		dispersion_moments(n, s, e);
		third = (double)((e[1] - 3 * e[0] * mean + 2 * mean * mean * mean) /
				 ((long double)n * n * n));
		square -= k / n;
	}
	if (variance < 0.1 * df)
		variance = 0.1 * df;
	/* So skewed at least as one that begins at 0. */
	if (third < 2 * variance * variance / df)
		third = 2 * variance * variance / df;
	shape = 4 * variance * variance * variance / (third * third);
	scale = third / (2 * variance);
	return chance_gamma_above(shape, (square - df) / scale + shape);
}

double chance_binomial(uint64_t n, uint64_t of, double p)
{
	double expected = (double)of * p, variance = expected * (1 - p), low, high, twice;

	if (!of || n > of)
		return 1;
	if (variance > VARIANCE_NORMAL) {
		double away = fabs((double)n - expected) - 0.5;

		return away > 0 ? erfc(away / sqrt(2 * variance)) : 1;
	}
	/* P(X <= n) and P(X >= n): A&S 26.5.24. */
	low = n == of ? 1 : chance_beta_below((double)(of - n), (double)n + 1, 1 - p);
	high = n == 0 ? 1 : chance_beta_below((double)n, (double)(of - n) + 1, p);
	twice = 2 * (low < high ? low : high);
	return twice > 1 ? 1 : twice;
}

void chance_poisson_interval(double n, double *ret_low, double *ret_high)
{
	double up = n + 1, low;

	low = n > 0 ? 1 - 1 / (9 * n) - NORMAL_95 / (3 * sqrt(n)) : 0;
	*ret_low = low > 0 ? n * low * low * low : 0;
	*ret_high = up * pow(1 - 1 / (9 * up) + NORMAL_95 / (3 * sqrt(up)), 3);
}

struct ranked {
	double p;
	size_t at;
};

int chance_adjust(double *p, size_t count)
{
	struct ranked *list = reallocarray(NULL, count + 1, sizeof(*list));
	double least = 1;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){p[i], i};
	array_sort(list, count, sizeof(*list), num_compare_double);
	for (size_t i = count; i-- > 0;) {
		double adjusted = list[i].p * (double)count / (double)(i + 1);

		least = adjusted < least ? adjusted : least;
		p[list[i].at] = least;
	}
	free(list);
	return 0;
}

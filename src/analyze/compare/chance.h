/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_CHANCE_H
#define CULPRIT_ANALYZE_COMPARE_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* How likely counts are if nothing but chance made them: functions return probabilities. */

/* Q(a, x): that a gamma variable of shape a > 0 is above x; Q(df/2, X/2) is that of chi-square. */
double chance_gamma_above(double a, double x);
/* I_x(a, b), a, b > 0: that a beta variable is below x. */
double chance_beta_below(double a, double b, double x);
/* Of the shares p of k sets, sums over the sets. */
struct chance_sets {
	double count;			 /* k */
	double squares, cubes;		 /* of p */
	double inverse, inverse_squares; /* of 1/p */
};
/*
 * That Pearson's X^2 of n samples over k sets, each of which takes its share of them by chance, is
 * square or above. With few samples it is not chi-square: a shifted gamma distribution (Pearson's
 * type III) is given its exact mean, variance and third moment, and as X^2 then moves in steps,
 * half a step is taken off.
 */
double chance_dispersion(double square, double n, const struct chance_sets *sets);
/*
 * That a count is at least as far from the expected one, on either side, as n of `of`, each present
 * with probability p: twice the lesser tail, at most 1. Exact up to a variance of 10000, then
 * normal.
 */
double chance_binomial(uint64_t n, uint64_t of, double p);
/*
 * The interval that holds the mean of a Poisson variable that was seen to be n, with 95% confidence
 * (Garwood's, in Byar's approximation: within 1% of the exact one from n = 5 on).
 */
void chance_poisson_interval(double n, double *ret_low, double *ret_high);
/*
 * Adjusts p-values for the number of tests: marking those up to r keeps the expected share of false
 * ones among the marked at r, and likewise the chance of marking any when all is chance (Benjamini
 * and Hochberg, 1995). p is replaced. 0 or -ENOMEM.
 */
int chance_adjust(double *p, size_t count);

#endif

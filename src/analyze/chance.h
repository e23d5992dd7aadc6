/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CHANCE_H
#define CULPRIT_ANALYZE_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* How likely counts are when nothing but chance made them. */

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
 * square or above. Where samples are few it is not chi-square: a gamma distribution that is shifted
 * (Pearson's type III) has its exact mean, variance and third moment, and as X^2 goes in steps
 * then, half of one is taken off.
 */
double chance_dispersion(double square, double n, const struct chance_sets *sets);
/*
 * That n of `of`, each there with probability p, is at least as far from what is expected, on
 * either side: twice the lesser tail, at most 1. Exact up to a variance of 10000, then normal.
 */
double chance_binomial(uint64_t n, uint64_t of, double p);
/*
 * The interval that has the mean of a Poisson variable of which n was seen, with 95% confidence
 * (Garwood's, in Byar's approximation: within 1% of the exact one from n = 5 on).
 */
void chance_poisson_interval(double n, double *ret_low, double *ret_high);
/*
 * What p-values become when so many tests are made: to mark those up to r keeps the expected share
 * of false ones among the marked at r, and the chance to mark any when all is chance, too
 * (Benjamini and Hochberg, 1995). p is replaced. 0 or -ENOMEM.
 */
int chance_adjust(double *p, size_t count);

#endif

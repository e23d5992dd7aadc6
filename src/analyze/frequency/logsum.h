/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_LOGSUM_H
#define CULPRIT_ANALYZE_FREQUENCY_LOGSUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Positive unknowns x = exp(y), tied by equations between an unknown and a weighted sum of others
 * that hold with a relative error of known size:
 *
 *	y[left] = log(sum of exp(y[term] + offset of term)) + error,  error ~ N(0, sigma^2)
 *
 * Flow conservation, branch ratios, counts and priors all have this form. Solved for the most
 * likely y by Gauss and Newton's method, each step a sparse least-squares problem; outliers weigh
 * less (Huber), since evidence may contradict itself. The last step's matrix is the inverse of
 * the covariance of y.
 *
 * Running out of memory makes the model fail for good; logsum_solve tells.
 */
struct logsum;

struct logsum_term {
	uint32_t variable;
	double offset;
};

struct logsum *logsum_new(void);
void logsum_free(struct logsum *m);

/* A new unknown; start is where the search for y begins. */
uint32_t logsum_variable(struct logsum *m, double start);
/* Without terms: y[left] = offset + error. */
void logsum_equation(struct logsum *m, uint32_t left, const struct logsum_term *terms, size_t count,
		     double offset, double sigma);

/* 0, -ENOMEM, -E2BIG (sparse.h), -EINVAL (no unknowns, too many equations), -EDOM. */
int logsum_solve(struct logsum *m, unsigned rounds_max);
double logsum_value(const struct logsum *m, uint32_t variable); /* y */

/*
 * Variances of y[i] - sum of weights[j] * y[j], for every i: with the shares of a total as weights,
 * those of log(x[i] / total). weights NULL: of y[i] alone. 0 or -ENOMEM.
 */
int logsum_variances(const struct logsum *m, const double *weights, double *ret);
size_t logsum_count(const struct logsum *m); /* of unknowns: more than were asked for */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/frequency/logsum.h"
#include "analyze/frequency/sparse.h"
#include "util/array.h"

#define LOGSUM_TERMS_MAX 8     /* of one equation: longer sums get unknowns for parts of them */
#define LOGSUM_EXACT	 0.002 /* sigma of a part, and the least of all */
#define LOGSUM_HUBER	 3.0   /* errors of more sigmas count less */
#define LOGSUM_STEP_MAX	 2.0   /* of one unknown in one round */
#define LOGSUM_STEP_DONE 0.02
#define LOGSUM_PULL	 1e-6 /* weight of y's start: what nothing determines stays there */
#define LOGSUM_SIZE_MAX	 (1u << 27)

struct logsum_equation {
	uint32_t left, first, count; /* terms */
	double offset, weight;	     /* 1 / sigma^2 */
};

struct logsum {
	double *y, *start;
	uint32_t count, room;
	struct logsum_equation *equations;
	size_t equation_count, equation_room;
	struct logsum_term *terms;
	size_t term_count, term_room;
	bool failed;
	struct sparse *matrix;
	uint32_t *places; /* of the products of an equation's coefficients, in order */
};

struct logsum *logsum_new(void)
{
	return calloc(1, sizeof(struct logsum));
}

void logsum_free(struct logsum *m)
{
	if (!m)
		return;
	free(m->y);
	free(m->start);
	free(m->equations);
	free(m->terms);
	free(m->places);
	sparse_free(m->matrix);
	free(m);
}

static bool logsum_grow(struct logsum *m, void *array, size_t *room, size_t need, size_t size)
{
	if (need > LOGSUM_SIZE_MAX || array_reserve(array, need, room, size, 1024))
		m->failed = true;
	return !m->failed;
}

uint32_t logsum_variable(struct logsum *m, double start)
{
	size_t room = m->room, start_room = m->room;

	if (m->failed || !logsum_grow(m, &m->y, &room, (size_t)m->count + 1, sizeof(*m->y)) ||
	    !logsum_grow(m, &m->start, &start_room, (size_t)m->count + 1, sizeof(*m->start))) {
		m->failed = true;
		return 0;
	}
	m->room = (uint32_t)room;
	m->y[m->count] = m->start[m->count] = start;
	return m->count++;
}

/* log(sum of exp(y + offset)); the share of each term, when shares is not NULL. */
static double logsum_sum(const struct logsum *m, const struct logsum_term *terms, size_t count,
			 double *shares)
{
	double most = -INFINITY, sum = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, m->y[terms[i].variable] + terms[i].offset);
	for (size_t i = 0; i < count; i++) {
		const double part = exp(m->y[terms[i].variable] + terms[i].offset - most);

		sum += part;
		if (shares)
			shares[i] = part;
	}
	for (size_t i = 0; shares && i < count; i++)
		shares[i] /= sum;
	return most + log(sum);
}

static void logsum_append(struct logsum *m, uint32_t left, const struct logsum_term *terms,
			  size_t count, double offset, double sigma)
{
	if (m->failed ||
	    !logsum_grow(m, &m->equations, &m->equation_room, m->equation_count + 1,
			 sizeof(*m->equations)) ||
	    !logsum_grow(m, &m->terms, &m->term_room, m->term_count + count, sizeof(*m->terms)))
		return;
	sigma = fmax(sigma, LOGSUM_EXACT);
	m->equations[m->equation_count++] = (struct logsum_equation){
		.left = left,
		.first = (uint32_t)m->term_count,
		.count = (uint32_t)count,
		.offset = offset,
		.weight = 1 / (sigma * sigma),
	};
	if (count)
		memcpy(m->terms + m->term_count, terms, count * sizeof(*terms));
	m->term_count += count;
}

void logsum_equation(struct logsum *m, uint32_t left, const struct logsum_term *terms, size_t count,
		     double offset, double sigma)
{
	struct logsum_term *parts = NULL, *next;
	size_t part_count;

	while (count > LOGSUM_TERMS_MAX && !m->failed) {
		part_count = (count + LOGSUM_TERMS_MAX - 1) / LOGSUM_TERMS_MAX;
		next = malloc(part_count * sizeof(*next));
		if (!next) {
			m->failed = true;
			break;
		}
		for (size_t i = 0; i < part_count; i++) {
			const struct logsum_term *t = terms + i * LOGSUM_TERMS_MAX;
			const size_t n = i + 1 < part_count ? LOGSUM_TERMS_MAX
							    : count - i * LOGSUM_TERMS_MAX;

			next[i].variable = logsum_variable(m, logsum_sum(m, t, n, NULL));
			next[i].offset = 0;
			logsum_append(m, next[i].variable, t, n, 0, LOGSUM_EXACT);
		}
		free(parts);
		parts = next;
		terms = next;
		count = part_count;
	}
	logsum_append(m, left, terms, count, offset, sigma);
	free(parts);
}

/* The pattern of the matrix: the diagonal, then all pairs of an equation's unknowns. */
static int logsum_prepare(struct logsum *m)
{
	size_t count = m->count, at;
	struct sparse_pair *pairs;

	for (size_t e = 0; e < m->equation_count; e++) {
		const size_t n = m->equations[e].count + 1u;

		count += n * (n + 1) / 2;
	}
	if (count > INT32_MAX / 2)
		return -EINVAL;
	pairs = malloc(count * sizeof(*pairs));
	free(m->places);
	m->places = malloc(count * sizeof(*m->places));
	if (!pairs || !m->places) {
		free(pairs);
		return -ENOMEM;
	}
	for (at = 0; at < m->count; at++)
		pairs[at] = (struct sparse_pair){(uint32_t)at, (uint32_t)at};
	for (size_t e = 0; e < m->equation_count; e++) {
		const struct logsum_equation *q = &m->equations[e];
		const struct logsum_term *t = m->terms + q->first;

		for (uint32_t i = 0; i <= q->count; i++) {
			const uint32_t a = i ? t[i - 1].variable : q->left;

			for (uint32_t j = 0; j <= i; j++)
				pairs[at++] =
					(struct sparse_pair){a, j ? t[j - 1].variable : q->left};
		}
	}
	sparse_free(m->matrix);
	m->matrix = NULL;
	int r = sparse_new(m->count, pairs, count, m->places, &m->matrix);
	free(pairs);
	return r;
}

/* The normal equations at the current y: the matrix, and the right side into step. */
static void logsum_linearize(struct logsum *m, double *step)
{
	size_t value_count, at = m->count;
	double *value = sparse_values(m->matrix, &value_count);

	memset(value, 0, value_count * sizeof(*value));
	for (uint32_t i = 0; i < m->count; i++) {
		value[m->places[i]] += LOGSUM_PULL;
		step[i] = LOGSUM_PULL * (m->start[i] - m->y[i]);
	}
	for (size_t e = 0; e < m->equation_count; e++) {
		const struct logsum_equation *q = &m->equations[e];
		const struct logsum_term *t = m->terms + q->first;
		double c[LOGSUM_TERMS_MAX + 1] = {1}, error = m->y[q->left] - q->offset, weight;

		if (q->count)
			error -= logsum_sum(m, t, q->count, c + 1);
		weight = q->weight / fmax(1, fabs(error) * sqrt(q->weight) / LOGSUM_HUBER);
		for (uint32_t i = 0; i <= q->count; i++) {
			if (i)
				c[i] = -c[i];
			step[i ? t[i - 1].variable : q->left] -= weight * c[i] * error;
			for (uint32_t j = 0; j <= i; j++) {
				/* A pair of the same unknown twice stands for both orders. */
				const uint32_t a = i ? t[i - 1].variable : q->left;
				const uint32_t b = j ? t[j - 1].variable : q->left;

				value[m->places[at++]] +=
					weight * c[i] * c[j] * (i != j && a == b ? 2 : 1);
			}
		}
	}
}

int logsum_solve(struct logsum *m, unsigned rounds_max)
{
	double *step;

	if (m->failed)
		return -ENOMEM;
	if (!m->count)
		return -EINVAL;
	int r = logsum_prepare(m);
	if (r)
		return r;
	step = malloc(m->count * sizeof(*step));
	if (!step)
		return -ENOMEM;
	for (unsigned round = 0; round < rounds_max; round++) {
		double most = 0;

		logsum_linearize(m, step);
		r = sparse_factor(m->matrix);
		if (r)
			break;
		sparse_solve(m->matrix, step);
		for (uint32_t i = 0; i < m->count; i++) {
			const double d = fmin(fmax(step[i], -LOGSUM_STEP_MAX), LOGSUM_STEP_MAX);

			m->y[i] += d;
			most = fmax(most, fabs(d));
		}
		if (most < LOGSUM_STEP_DONE)
			break;
	}
	free(step);
	return r;
}

double logsum_value(const struct logsum *m, uint32_t variable)
{
	return m->y[variable];
}

size_t logsum_count(const struct logsum *m)
{
	return m->count;
}

int logsum_variances(const struct logsum *m, const double *weights, double *ret)
{
	double *x, own = 0;
	int r = sparse_inverse_diagonal(m->matrix, ret);

	if (r || !weights)
		return r;
	x = malloc(m->count * sizeof(*x));
	if (!x)
		return -ENOMEM;
	memcpy(x, weights, m->count * sizeof(*x));
	sparse_solve(m->matrix, x);
	for (uint32_t i = 0; i < m->count; i++)
		own += weights[i] * x[i];
	for (uint32_t i = 0; i < m->count; i++)
		ret[i] = fmax(ret[i] - 2 * x[i] + own, 0);
	free(x);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/amd.h>
#include "analyze/frequency/sparse.h"

#define NONE UINT32_MAX

struct sparse {
	uint32_t size;
	uint32_t *place;  /* of a variable in the order of elimination */
	uint32_t *column; /* [size + 1]: where the columns of the upper half begin */
	uint32_t *row;	  /* of each value, in that order; at most its column's number */
	double *value;
	uint32_t *parent; /* elimination tree */
	size_t *l_column; /* [size + 1] */
	uint32_t *l_row;
	double *l_value, *diagonal;
	double *work; /* [size], 0 between calls */
	uint32_t *mark, *pattern, *filled;
};

/* The order of elimination, into s->place. */
static int sparse_order(struct sparse *s, const struct sparse_pair *pairs, size_t count)
{
	const uint32_t n = s->size;
	int32_t *start = calloc((size_t)n + 2, sizeof(*start));
	int32_t *list = malloc((count + 1) * sizeof(*list)), *order = malloc(n * sizeof(*order));
	int r = -ENOMEM, status;

	if (!start || !list || !order)
		goto out;
	for (size_t i = 0; i < count; i++)
		start[pairs[i].column + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		start[i] += start[i - 1];
	for (size_t i = 0; i < count; i++)
		list[start[pairs[i].column + 1]++] = (int32_t)pairs[i].row;
	status = amd_order((int32_t)n, start, list, order, NULL, NULL);
	if (status != AMD_OK && status != AMD_OK_BUT_JUMBLED) {
		r = status == AMD_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
		goto out;
	}
	for (uint32_t i = 0; i < n; i++)
		s->place[order[i]] = i;
	r = 0;
out:
	free(start);
	free(list);
	free(order);
	return r;
}

/* The upper half by columns, each entry once; ret_places tells where each pair went. */
static int sparse_gather(struct sparse *s, const struct sparse_pair *pairs, size_t count,
			 uint32_t *ret_places)
{
	const uint32_t n = s->size;
	uint32_t *bucket = calloc((size_t)n + 1, sizeof(*bucket));
	uint32_t *list = malloc(count * sizeof(*list)), entries = 0;

	if (!bucket || !list) {
		free(bucket);
		free(list);
		return -ENOMEM;
	}
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = count; i-- > 0;) {
			const uint32_t a = s->place[pairs[i].row], b = s->place[pairs[i].column];
			const uint32_t at = a > b ? a : b;

			if (pass)
				list[--bucket[at]] = (uint32_t)i;
			else
				bucket[at]++;
		}
		for (uint32_t i = 1; !pass && i <= n; i++)
			bucket[i] += bucket[i - 1];
	}
	memset(s->mark, 0xff, n * sizeof(*s->mark));
	for (uint32_t k = 0; k < n; k++) {
		s->column[k] = entries;
		for (size_t i = bucket[k]; i < (k + 1 < n ? bucket[k + 1] : count); i++) {
			const struct sparse_pair *p = &pairs[list[i]];
			const uint32_t a = s->place[p->row], b = s->place[p->column];
			const uint32_t row = a < b ? a : b;

			if (s->mark[row] == NONE || s->mark[row] < s->column[k]) {
				s->mark[row] = entries;
				s->row[entries++] = row;
			}
			ret_places[list[i]] = s->mark[row];
		}
	}
	s->column[n] = entries;
	free(bucket);
	free(list);
	return 0;
}

/* The elimination tree, and how many entries each column of L has. */
static int sparse_analyse(struct sparse *s)
{
	double work = 0;

	memset(s->mark, 0xff, s->size * sizeof(*s->mark));
	for (uint32_t k = 0; k < s->size; k++) {
		s->parent[k] = NONE;
		s->filled[k] = 0;
		s->mark[k] = k;
		for (uint32_t p = s->column[k]; p < s->column[k + 1]; p++) {
			for (uint32_t i = s->row[p]; s->mark[i] != k; i = s->parent[i]) {
				if (s->parent[i] == NONE)
					s->parent[i] = k;
				s->filled[i]++;
				s->mark[i] = k;
			}
		}
	}
	for (uint32_t k = 0; k < s->size; k++) {
		s->l_column[k + 1] = s->l_column[k] + s->filled[k];
		work += (double)s->filled[k] * s->filled[k];
	}
	return s->l_column[s->size] > SPARSE_FACTOR_MAX || work > SPARSE_WORK_MAX ? -E2BIG : 0;
}

int sparse_new(uint32_t size, const struct sparse_pair *pairs, size_t pair_count,
	       uint32_t *ret_places, struct sparse **ret)
{
	struct sparse *s;
	int r = -ENOMEM;

	if (!size || size > INT32_MAX / 2 || pair_count < size || pair_count > INT32_MAX / 2)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->size = size;
	s->place = calloc(size, sizeof(*s->place));
	s->column = calloc((size_t)size + 1, sizeof(*s->column));
	s->row = malloc(pair_count * sizeof(*s->row));
	s->value = calloc(pair_count, sizeof(*s->value));
	s->parent = calloc(size, sizeof(*s->parent));
	s->l_column = calloc((size_t)size + 1, sizeof(*s->l_column));
	s->diagonal = calloc(size, sizeof(*s->diagonal));
	s->work = calloc(size, sizeof(*s->work));
	s->mark = calloc(size, sizeof(*s->mark));
	s->pattern = calloc(size, sizeof(*s->pattern));
	s->filled = calloc(size, sizeof(*s->filled));
	if (!s->place || !s->column || !s->row || !s->value || !s->parent || !s->l_column ||
	    !s->diagonal || !s->work || !s->mark || !s->pattern || !s->filled)
		goto fail;
	r = sparse_order(s, pairs, pair_count);
	if (!r)
		r = sparse_gather(s, pairs, pair_count, ret_places);
	if (!r)
		r = sparse_analyse(s);
	if (r)
		goto fail;
	s->l_row = malloc((s->l_column[size] + 1) * sizeof(*s->l_row));
	s->l_value = malloc((s->l_column[size] + 1) * sizeof(*s->l_value));
	if (!s->l_row || !s->l_value) {
		r = -ENOMEM;
		goto fail;
	}
	*ret = s;
	return 0;
fail:
	sparse_free(s);
	return r;
}

void sparse_free(struct sparse *s)
{
	if (!s)
		return;
	free(s->place);
	free(s->column);
	free(s->row);
	free(s->value);
	free(s->parent);
	free(s->l_column);
	free(s->l_row);
	free(s->l_value);
	free(s->diagonal);
	free(s->work);
	free(s->mark);
	free(s->pattern);
	free(s->filled);
	free(s);
}

double *sparse_values(struct sparse *s, size_t *ret_count)
{
	*ret_count = s->column[s->size];
	return s->value;
}

/* The columns that row k of L has entries in, in an order in which they can be eliminated: from
 * pattern[result] on. Scatters column k of the matrix into work. */
static uint32_t sparse_reach(struct sparse *s, uint32_t k)
{
	uint32_t top = s->size;

	s->mark[k] = k;
	for (uint32_t p = s->column[k]; p < s->column[k + 1]; p++) {
		uint32_t length = 0;

		s->work[s->row[p]] += s->value[p];
		for (uint32_t i = s->row[p]; s->mark[i] != k; i = s->parent[i]) {
			s->pattern[length++] = i;
			s->mark[i] = k;
		}
		while (length)
			s->pattern[--top] = s->pattern[--length];
	}
	return top;
}

/* Eliminates column i from row k, whose pivot loses by it. */
static void sparse_eliminate(struct sparse *s, uint32_t i, uint32_t k, double *pivot)
{
	const double y = s->work[i], l = y / s->diagonal[i];
	const size_t end = s->l_column[i] + s->filled[i];

	s->work[i] = 0;
	for (size_t p = s->l_column[i]; p < end; p++)
		s->work[s->l_row[p]] -= s->l_value[p] * y;
	s->l_row[end] = k;
	s->l_value[end] = l;
	s->filled[i]++;
	*pivot -= l * y;
}

/*
 * Whether the FUSED columns from pattern[top] on have the same rows but for their own: each is the
 * next one's child, whose rows are among its parent's, and has one more. They are eliminated in one
 * pass over those rows, which makes what one pass for each would, to the last bit.
 */
#define FUSED 4
static bool sparse_are_fused(const struct sparse *s, uint32_t top)
{
	const uint32_t i = s->pattern[top];

	if (top + FUSED > s->size || s->filled[i] < 2 * FUSED)
		return false;
	for (uint32_t d = 1; d < FUSED; d++)
		if (s->pattern[top + d] != i + d || s->parent[i + d - 1] != i + d ||
		    s->filled[i + d] + d != s->filled[i])
			return false;
	return true;
}

static void sparse_eliminate_fused(struct sparse *s, uint32_t i, uint32_t k, double *pivot)
{
	const double *l[FUSED];
	double y[FUSED];
	const uint32_t rows = s->filled[i] - (FUSED - 1);
	const uint32_t *row = s->l_row + s->l_column[i] + FUSED - 1;

	for (uint32_t d = 0; d < FUSED; d++) {
		const size_t begin = s->l_column[i + d], end = begin + s->filled[i + d];

		y[d] = s->work[i + d];
		s->work[i + d] = 0;
		/* The columns after it come first among its rows. */
		for (uint32_t e = d + 1; e < FUSED; e++)
			s->work[i + e] -= s->l_value[begin + e - d - 1] * y[d];
		l[d] = s->l_value + begin + FUSED - 1 - d;
		s->l_row[end] = k;
		s->l_value[end] = y[d] / s->diagonal[i + d];
		*pivot -= s->l_value[end] * y[d];
		s->filled[i + d]++;
	}
	for (uint32_t p = 0; p < rows; p++) {
		double w = s->work[row[p]];

		for (uint32_t d = 0; d < FUSED; d++)
			w -= l[d][p] * y[d];
		s->work[row[p]] = w;
	}
}

int sparse_factor(struct sparse *s)
{
	memset(s->mark, 0xff, s->size * sizeof(*s->mark));
	memset(s->filled, 0, s->size * sizeof(*s->filled));
	for (uint32_t k = 0; k < s->size; k++) {
		uint32_t top = sparse_reach(s, k);
		double pivot = s->work[k];

		s->work[k] = 0;
		while (top < s->size) {
			const uint32_t i = s->pattern[top];

			if (sparse_are_fused(s, top)) {
				sparse_eliminate_fused(s, i, k, &pivot);
				top += FUSED;
			} else {
				sparse_eliminate(s, i, k, &pivot);
				top++;
			}
		}
		if (!(pivot > 0)) {
			memset(s->work, 0, s->size * sizeof(*s->work));
			return -EDOM;
		}
		s->diagonal[k] = pivot;
	}
	return 0;
}

void sparse_solve(const struct sparse *s, double *x)
{
	double *y = s->work;

	for (uint32_t i = 0; i < s->size; i++)
		y[s->place[i]] = x[i];
	for (uint32_t k = 0; k < s->size; k++)
		for (size_t p = s->l_column[k]; p < s->l_column[k + 1]; p++)
			y[s->l_row[p]] -= s->l_value[p] * y[k];
	for (uint32_t k = s->size; k-- > 0;) {
		y[k] /= s->diagonal[k];
		for (size_t p = s->l_column[k]; p < s->l_column[k + 1]; p++)
			y[k] -= s->l_value[p] * y[s->l_row[p]];
	}
	for (uint32_t i = 0; i < s->size; i++)
		x[i] = y[s->place[i]];
	memset(y, 0, s->size * sizeof(*y));
}

/* Column j of the inverse, below the diagonal, from the columns after it. */
static void sparse_invert_column(const struct sparse *s, uint32_t j, double *z, double *z_diagonal,
				 double *sum)
{
	const size_t begin = s->l_column[j], end = s->l_column[j + 1];
	double *l = s->work, own = 1 / s->diagonal[j];

	for (size_t p = begin; p < end; p++) {
		l[s->l_row[p]] = s->l_value[p];
		s->mark[s->l_row[p]] = j;
	}
	for (size_t p = begin; p < end; p++) {
		const uint32_t k = s->l_row[p];

		sum[k] += z_diagonal[k] * l[k];
		for (size_t q = s->l_column[k]; q < s->l_column[k + 1]; q++) {
			const uint32_t r = s->l_row[q];

			if (s->mark[r] == j) {
				sum[r] += z[q] * l[k];
				sum[k] += z[q] * l[r];
			}
		}
	}
	for (size_t p = begin; p < end; p++) {
		const uint32_t k = s->l_row[p];

		z[p] = -sum[k];
		own -= s->l_value[p] * z[p];
		sum[k] = 0;
		l[k] = 0;
	}
	z_diagonal[j] = own;
}

int sparse_inverse_diagonal(const struct sparse *s, double *ret)
{
	double *z = malloc((s->l_column[s->size] + 1) * sizeof(*z));
	double *z_diagonal = calloc(s->size, sizeof(*z_diagonal));
	double *sum = calloc(s->size, sizeof(*sum));
	int r = -ENOMEM;

	if (z && z_diagonal && sum) {
		memset(s->mark, 0xff, s->size * sizeof(*s->mark));
		for (uint32_t j = s->size; j-- > 0;)
			sparse_invert_column(s, j, z, z_diagonal, sum);
		for (uint32_t i = 0; i < s->size; i++)
			ret[i] = z_diagonal[s->place[i]];
		r = 0;
	}
	free(z);
	free(z_diagonal);
	free(sum);
	return r;
}

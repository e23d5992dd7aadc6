/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_SPARSE_H
#define CULPRIT_ANALYZE_FREQUENCY_SPARSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sparse symmetric positive definite systems: ordering (approximate minimum degree, libamd),
 * L D L^T by rows (Davis, Direct Methods for Sparse Linear Systems, SIAM 2006, chapter 4), and the
 * entries of the inverse where L has entries (Takahashi, Fagan and Chen 1973), which give the
 * variances. Deterministic.
 */
struct sparse;

struct sparse_pair {
	uint32_t row, column; /* in any order */
};

/*
 * The pattern: pairs may repeat; the diagonal must be among them. ret_places: for each pair, where
 * its value stands in sparse_values. -E2BIG when the factor would have more than SPARSE_FACTOR_MAX
 * entries, or take more than SPARSE_WORK_MAX multiplications; -ENOMEM; -EINVAL.
 */
#define SPARSE_FACTOR_MAX ((size_t)1 << 26)
#define SPARSE_WORK_MAX	  4e8
int sparse_new(uint32_t size, const struct sparse_pair *pairs, size_t pair_count,
	       uint32_t *ret_places, struct sparse **ret);
void sparse_free(struct sparse *s);

double *sparse_values(struct sparse *s, size_t *ret_count);
/* -EDOM: not positive definite. */
int sparse_factor(struct sparse *s);
/* After sparse_factor. x: the right side, then the solution. */
void sparse_solve(const struct sparse *s, double *x);
/* After sparse_factor: the diagonal of the inverse. 0 or -ENOMEM. */
int sparse_inverse_diagonal(const struct sparse *s, double *ret);

#endif

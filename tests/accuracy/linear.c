/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Debian's OpenBLAS through its Fortran interface: a product, a factorisation with its solution,
 * and a matrix times vectors. Links with the serial library alone.
 */
#include <stdio.h>
#include <stdlib.h>

#define N 384

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	    const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
	    const double *beta, double *c, const int *ldc);
void dgemv_(const char *t, const int *m, const int *n, const double *alpha, const double *a,
	    const int *lda, const double *x, const int *incx, const double *beta, double *y,
	    const int *incy);
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b,
	    const int *ldb, int *info);

int main(void)
{
	const int n = N, one = 1, columns = 8;
	const double unit = 1.0, zero = 0.0;
	int info = 0;
	static int pivots[N];
	double *a = malloc(N * N * sizeof(*a)), *b = malloc(N * N * sizeof(*b));
	double *c = malloc(N * N * sizeof(*c)), sum = 0;

	if (!a || !b || !c)
		return 1;
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < N * N; i++) {
			a[i] = (i * 7 + round) % 13 - 6.0 + (i % (N + 1) ? 0 : N);
			b[i] = i * 5 % 11 - 5.0;
		}
		dgemm_("N", "T", &n, &n, &n, &unit, a, &n, b, &n, &zero, c, &n);
		for (int i = 0; i < 40; i++)
			dgemv_(i & 1 ? "T" : "N", &n, &n, &unit, a, &n, b + i * N, &one, &zero, c,
			       &one);
		dgesv_(&n, &columns, a, &n, pivots, b, &n, &info);
		sum += c[round] + b[round];
	}
	printf("%g %d\n", sum, info);
	free(a);
	free(b);
	free(c);
	return info;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Dense products of matrices of whole and of floating numbers: throughput, and a stride of a row.
 */
#include <stdio.h>

#define N 160

static double a[N][N], b[N][N], c[N][N];
static int p[N][N], q[N][N];

static void fill(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = i * 0.5 - j;
			b[i][j] = (i ^ j) * 0.25;
			p[i][j] = i * 3 + j;
		}
}

static void multiply_columns(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[i][k] * b[k][j];
			c[i][j] = sum;
		}
}

static void multiply_rows(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i][j] += a[i][k] * b[k][j];
}

static long transpose_and_sum(void)
{
	long sum = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			q[j][i] = p[i][j] % 17;
			if (q[j][i] > 8)
				sum += q[j][i] / (i + 1);
		}
	return sum;
}

int main(void)
{
	double trace = 0;
	long sum = 0;

	fill();
	for (int round = 0; round < 12; round++) {
		multiply_columns();
		multiply_rows();
		sum += transpose_and_sum();
	}
	for (int i = 0; i < N; i++)
		trace += c[i][i];
	printf("%g %ld\n", trace, sum);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recursion and branches that nobody can foretell, then binary searches. */
#include <stdint.h>
#include <stdio.h>

#define N 300000

static uint32_t data[N];

static void fill(uint32_t x)
{
	for (int i = 0; i < N; i++) {
		x = x * 1664525u + 1013904223u;
		data[i] = x >> 4;
	}
}

static void insertion(uint32_t *v, long n)
{
	for (long i = 1; i < n; i++) {
		uint32_t x = v[i];
		long j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

__attribute__((noinline)) static void quicksort(uint32_t *v, long n)
{
	while (n > 12) {
		uint32_t pivot = v[n / 2];
		long i = 0, j = n - 1;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint32_t t = v[i];
			v[i++] = v[j];
			v[j--] = t;
		}
		quicksort(v, i);
		v += i;
		n -= i;
	}
	insertion(v, n);
}

__attribute__((noinline)) static long find(uint32_t key)
{
	long low = 0, high = N;

	while (low < high) {
		long middle = (low + high) / 2;

		if (data[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int main(void)
{
	long sum = 0;

	for (uint32_t round = 0; round < 6; round++) {
		fill(round);
		quicksort(data, N);
		for (uint32_t i = 0; i < 40000; i++)
			sum += find(i * 6689u);
	}
	printf("%ld\n", sum);
	return 0;
}

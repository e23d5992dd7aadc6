/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/line_life.h"

#include <math.h>

/* Lives looked at, in uses of the line that runs most; and how far from right is near enough. */
#define LEAST  1e-3
#define MOST   1e15
#define ENOUGH 1.02

double line_life(const double *counts, size_t n, double used, double room)
{
	double most = 0, low, high;

	if (used < (double)n)
		used = (double)n;
	if (n == 0 || used <= room)
		return INFINITY;
	room *= (double)n / used;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, counts[i]);
	if (most <= 0)
		return INFINITY;
	low = LEAST / most;
	high = MOST / most;
	while (high > ENOUGH * low) {
		double middle = sqrt(low * high), held = 0;

		for (size_t i = 0; i < n; i++)
			held -= expm1(-middle * counts[i]);
		if (held < room)
			low = middle;
		else
			high = middle;
	}
	return low;
}

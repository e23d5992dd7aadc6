/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include "analyze/cpi.h"

#define Z90 1.645 /* 90% of a normal distribution */

struct frequency_estimate cpi_estimate(double samples, double cycles_per_sample,
				       const struct frequency_estimate *count)
{
	struct frequency_estimate cpi = {.confidence = FREQUENCY_LOW};
	double below, above, noise;

	if (!(cycles_per_sample > 0)) {
		cpi.high = INFINITY;
		return cpi;
	}
	if (!(count->value > 0)) {
		/* It may not have run at all. */
		cpi.low = count->high > 0 ? samples * cycles_per_sample / count->high : 0;
		cpi.high = INFINITY;
		return cpi;
	}
	/* Half a sample more: none at all still leaves room for some. */
	noise = Z90 / sqrt(samples + 0.5);
	below = hypot(log(count->high / count->value), noise);
	above = count->low > 0 ? hypot(log(count->value / count->low), noise) : INFINITY;
	cpi.value = samples * cycles_per_sample / count->value;
	cpi.low = cpi.value * exp(-below);
	cpi.high = (samples > 0 ? cpi.value : 0.5 * cycles_per_sample / count->value) * exp(above);
	if (fmax(below, above) <= 0.15)
		cpi.confidence = FREQUENCY_HIGH;
	else if (fmax(below, above) <= 0.405)
		cpi.confidence = FREQUENCY_MEDIUM;
	return cpi;
}

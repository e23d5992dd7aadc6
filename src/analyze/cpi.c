/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include "analyze/cpi.h"

#define Z90 1.645 /* 90% of a normal distribution */

struct frequency_estimate cpi_estimate(double samples, double cycles_per_sample,
				       const struct frequency_estimate *count)
{
	struct frequency_estimate cpi = {.confidence = FREQUENCY_LOW};
	double deviation, noise;

	if (!(count->value > 0) || !(cycles_per_sample > 0))
		return cpi;
	/* Half a sample more: none at all still leaves room for some. */
	noise = 1 / sqrt(samples + 0.5);
	deviation = count->low > 0 ? log(count->high / count->low) / (2 * Z90) : INFINITY;
	deviation = hypot(deviation, noise);
	cpi.value = samples * cycles_per_sample / count->value;
	cpi.low = cpi.value * exp(-Z90 * deviation);
	cpi.high = (samples > 0 ? cpi.value : 0.5 * cycles_per_sample / count->value) *
		   exp(Z90 * fmin(deviation, 50));
	if (deviation <= 0.15 / Z90)
		cpi.confidence = FREQUENCY_HIGH;
	else if (deviation <= 0.405 / Z90)
		cpi.confidence = FREQUENCY_MEDIUM;
	return cpi;
}

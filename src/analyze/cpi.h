/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CPI_H
#define CULPRIT_ANALYZE_CPI_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/frequency.h"

/*
 * Cycles per execution, from time and frequency: samples * cycles_per_sample / count. Its interval
 * joins the noise of the samples (Poisson) and the interval of the count.
 *
 * samples: those charged to an instruction or a block; count: its absolute executions. With no
 * executions the value is 0 and of low confidence.
 */
struct frequency_estimate cpi_estimate(double samples, double cycles_per_sample,
				       const struct frequency_estimate *count);

#endif

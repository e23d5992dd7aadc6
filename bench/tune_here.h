/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BENCH_TUNE_HERE_H
#define CULPRIT_BENCH_TUNE_HERE_H

#include <stdio.h>
#include "collect/cost/core_measure.h"

/* Corrects a model by what is remembered of this machine, or is measured now; says what it did. */
static inline int tune_here(struct machine_model *m, struct diag *diag)
{
	struct machine_measured x;
	struct machine_belief b = {0};
	int r = core_measure_recall(&x);

	if (r)
		r = core_measure(&x, diag);
	if (!r)
		r = machine_model_tune(m, &x, &b, diag);
	for (unsigned i = 0; !r && i < b.count; i++)
		fprintf(stderr, "corrected: %s: %u\n", b.corrections[i].name,
			b.corrections[i].value);
	if (!r)
		fprintf(stderr, "fit: median %.1f%%, 90%% %.1f%% (before: %.1f%%, %.1f%%)\n",
			100 * b.after.median, 100 * b.after.high, 100 * b.before.median,
			100 * b.before.high);
	return r;
}

#endif

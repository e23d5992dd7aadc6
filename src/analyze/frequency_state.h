/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_STATE_H
#define CULPRIT_ANALYZE_FREQUENCY_STATE_H

#include <stdbool.h>
#include "analyze/evidence_graph.h"
#include "analyze/frequency.h"

/* What a method finds: logarithms of frequencies in any unit that is the same for all, and the
 * standard deviation of log(frequency / total instructions). */
struct frequency_guess {
	double log, deviation;
};

struct frequency_guesses {
	struct frequency_guess *blocks, *ways; /* as in the evidence */
	bool classic;			       /* made by its rule, asked for or not */
};

/* Of nothing at all. */
#define FREQUENCY_UNKNOWN 3.0

int frequency_flow(const struct evidence *e, struct frequency_guesses *g);
int frequency_classic(const struct evidence *e, struct frequency_guesses *g);

#endif

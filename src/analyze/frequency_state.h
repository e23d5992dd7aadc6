/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_STATE_H
#define CULPRIT_ANALYZE_FREQUENCY_STATE_H

#include <stdbool.h>
#include "analyze/evidence_graph.h"
#include "analyze/frequency.h"

/*
 * What a method finds: logarithms of frequencies in any unit that is the same for all, and the
 * standard deviation of log(frequency / total instructions). Of what was not seen to run log is
 * -INFINITY, deviation 0, and most the logarithm that it is below with a probability of 90%, by the
 * evidence that would have been there.
 */
struct frequency_guess {
	double log, deviation, most;
};

struct frequency_guesses {
	struct frequency_guess *blocks, *ways; /* as in the evidence */
	bool classic;			       /* made by its rule, asked for or not */
};

/* Of nothing at all. */
#define FREQUENCY_UNKNOWN 3.0
/* The mean of a Poisson variable that is 0 with a probability of 10%. */
#define FREQUENCY_NONE_SEEN 2.303
#define FREQUENCY_Z80	    1.282 /* 90% of a normal distribution are below */

int frequency_flow(const struct evidence *e, struct frequency_guesses *g);
int frequency_classic(const struct evidence *e, struct frequency_guesses *g);

#endif

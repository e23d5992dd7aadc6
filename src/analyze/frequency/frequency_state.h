/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_STATE_H
#define CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_STATE_H

#include <stdbool.h>
#include "analyze/frequency/evidence_graph.h"
#include "analyze/frequency/frequency.h"

/*
 * What a method finds: logarithms of frequencies in any unit that is the same for all, and the
 * standard deviation of log(frequency / total instructions). For what was not seen to run, log is
 * -INFINITY, deviation is 0, and most is the logarithm that it is below with a probability of 90%,
 * judging by the evidence that there would have been.
 */
struct frequency_guess {
	double log, deviation, most;
};

struct frequency_guesses {
	struct frequency_guess *blocks, *ways; /* as in the evidence */
	bool classic;			       /* made by DCPI's rule, asked for or not */
};

/* The deviation where nothing at all is known. */
#define FREQUENCY_UNKNOWN 3.0
/* The mean of a Poisson variable that is 0 with a probability of 10%. */
#define FREQUENCY_NONE_SEEN 2.303
#define FREQUENCY_Z80	    1.282 /* 90% of a normal distribution are below */

int frequency_flow(const struct evidence *e, struct frequency_guesses *g);
int frequency_classic(const struct evidence *e, struct frequency_guesses *g);

#endif

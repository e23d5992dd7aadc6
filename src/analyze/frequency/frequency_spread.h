/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_SPREAD_H
#define CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_SPREAD_H

#include "analyze/frequency/evidence_graph.h"

/* How far the truth may be below and above a value, as logarithms: 5% are beyond either. */
struct frequency_spread {
	double below, above;
};

/* Of two that are independent. */
struct frequency_spread frequency_spread_join(struct frequency_spread a, struct frequency_spread b);

/*
 * How many causes a function's time may have at most, by where its samples are: the effective
 * number of blocks, (sum of samples)^2 / sum of squares, where blocks that look the same count as
 * one. At least 1. 0: out of memory.
 */
double frequency_causes(const struct evidence *e, const struct evidence_function *f);

/*
 * How far a function's executions may be off because its cycles per instruction are a guess.
 * Calibrated on loops of one cause each, whole kinds of which were left out (doc/analysis.md): one
 * cause may be off by much; where there are several they average out.
 *
 * stall: its cycles over those of the best case, at the stated executions; INFINITY: not known.
 */
struct frequency_spread frequency_slowness(double causes, double stall);

#endif

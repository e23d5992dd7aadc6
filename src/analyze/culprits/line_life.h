/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_LINE_LIFE_H
#define CULPRIT_ANALYZE_CULPRITS_LINE_LIFE_H

#include <stddef.h>

/*
 * How long a line stays in a cache after its last use, as a part of the profile, when the cache has
 * room for so many, the least recently used goes first, and lines are wanted at random as often as
 * they run (Che, Tung and Wang, Hierarchical Web caching systems, 2002): as long as it takes for so
 * many others to be wanted. One that runs n times is gone with probability exp(-n * life) when it
 * is wanted again. counts: executions of each line. used: lines in use, including those that were
 * not seen, which take up room too. INFINITY: there is room for all.
 */
double line_life(const double *counts, size_t n, double used, double room);

#endif

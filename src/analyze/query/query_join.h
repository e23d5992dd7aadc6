/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_QUERY_JOIN_H
#define CULPRIT_ANALYZE_QUERY_QUERY_JOIN_H

#include "analyze/query/query.h"

/* Time told by ticks and by random timers at once. */
struct join_sums {
	double ticks_ns, timers_ns; /* samples by their period */
};

/* From one sample to the next, of each kind. */
struct join_periods {
	double tick_ns, timer_ns;
};

/* How far a group's ticks are believed, 0 to 1; the rest comes from its random samples. */
double join_weight(const struct join_periods *p, const struct join_sums *s);

/*
 * Makes one event of a clock's ticks and its random samples, if the query has exactly one event of
 * each: in samples of their combined rate. Rows must be in order. The event of the ticks is left
 * with periods == 0.
 */
void query_join(struct query *q);

#endif

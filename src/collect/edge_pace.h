/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGE_PACE_H
#define CULPRIT_COLLECT_EDGE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which share of the samples is followed by the interpreter: as many as the budget allows, by what
 * a window was found to cost.
 */
struct edge_pace {
	double budget_percent, hz;
	double cost_ns;		    /* of a window in the kernel, as last measured */
	uint64_t windows, spent_ns; /* when it was measured last */
	uint32_t period;	    /* one in so many samples; 0: none */
};

/* Assumed until windows were measured, and of each the work of the drain. */
#define EDGE_WINDOW_DEFAULT_NS 8000.0
#define EDGE_WINDOW_DRAIN_NS   2000.0

/* budget_percent: of a CPU, for windows alone; hz: samples a second on a busy CPU. */
void edge_pace_start(struct edge_pace *p, double budget_percent, double hz);
/* Takes the totals so far. True when the period has changed. */
bool edge_pace_update(struct edge_pace *p, uint64_t windows, uint64_t spent_ns);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_PACE_H
#define CULPRIT_COLLECT_COST_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which share of the samples is followed, by the interpreter or by the unwinder: as many as the
 * budget allows, by what following one was found to cost.
 */
struct pace_config {
	double budget_percent; /* of a CPU, for this alone; INFINITY: no limit */
	double hz;	       /* samples a second on a busy CPU */
	double most_hz;	       /* no more than this many are followed; 0: no limit */
	double cost_ns;	       /* assumed for one, in the kernel, until it is measured */
	double drain_ns;       /* of the collector's work for one */
};

struct pace {
	struct pace_config config;
	double cost_ns;		  /* as last measured */
	uint64_t count, spent_ns; /* as they were at the last measurement */
	uint32_t period;	  /* one in this many samples; 0: none */
};

void pace_start(struct pace *p, const struct pace_config *config);
/* Another budget and another rate from now on. True when the period has changed. */
bool pace_change(struct pace *p, double budget_percent, double hz);
/* Takes the totals so far. True when the period has changed. */
bool pace_update(struct pace *p, uint64_t count, uint64_t spent_ns);

#endif

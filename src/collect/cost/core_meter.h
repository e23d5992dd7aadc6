/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_CORE_METER_H
#define CULPRIT_COLLECT_COST_CORE_METER_H

#include "machine/loops.h"

/* What is known from the loops before; zeros at first. */
struct core_meter {
	double unit;  /* ns of a cycle at the fastest clock */
	double width; /* cycles of an idle operation at best */
};

/*
 * Cycles that a round of a loop takes when nothing else disturbs it, whatever the clock's
 * frequency: the least of many short slices, each in units of a chain of additions (one cycle each)
 * just before and after it. A slice is left out when the thread was switched out in it, or when the
 * two chains differ, as they do when the frequency changes or the host takes the CPU away, or when
 * idle operations beside it took longer than at best, as they do beside a neighbour on the core.
 * Takes about patience_ns of CPU at most, and four times that on a busy machine; 0: no slice was
 * undisturbed, or there is no chain for this processor.
 */
double core_meter_cycles(struct core_meter *m, machine_loop_run *run, void *buffer,
			 double patience_ns);

#endif

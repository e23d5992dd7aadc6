/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edge_pace.h"

#include <math.h>

#define WINDOWS_LEAST 200 /* for a measurement */
#define PERIOD_MOST   UINT16_MAX
#define SMOOTHING     0.25 /* weight of a new measurement */
#define TOO_MANY      1.1 /* a period is kept while windows cost less than so much of the budget... */
#define TOO_FEW	      0.7 /* ...and more than so much of it */

/* The share of the budget that a period takes, 1: all of it. */
static double load(const struct edge_pace *p, double period)
{
	return p->hz / period * (p->cost_ns + EDGE_WINDOW_DRAIN_NS) * 100 / 1e9 / p->budget_percent;
}

static uint16_t choose(const struct edge_pace *p)
{
	double period = ceil(load(p, 1));

	if (!(p->budget_percent > 0) || !(period <= PERIOD_MOST))
		return 0;
	return period < 1 ? 1 : (uint16_t)period;
}

void edge_pace_start(struct edge_pace *p, double budget_percent, double hz)
{
	*p = (struct edge_pace){
		.budget_percent = budget_percent, .hz = hz, .cost_ns = EDGE_WINDOW_DEFAULT_NS};
	p->period = choose(p);
}

bool edge_pace_update(struct edge_pace *p, uint64_t windows, uint64_t spent_ns)
{
	uint64_t grown = windows - p->windows;
	double cost;

	if (!p->period || windows < p->windows || spent_ns < p->spent_ns || grown < WINDOWS_LEAST)
		return false;
	cost = (double)(spent_ns - p->spent_ns) / (double)grown;
	p->cost_ns += SMOOTHING * (cost - p->cost_ns);
	p->windows = windows;
	p->spent_ns = spent_ns;
	/* A period that changes with every measurement would make windows of unequal weight for
	 * nothing. */
	if (load(p, p->period) < TOO_MANY && (p->period == 1 || load(p, p->period) > TOO_FEW))
		return false;
	p->period = choose(p);
	return true;
}

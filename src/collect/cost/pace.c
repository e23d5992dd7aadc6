/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/pace.h"

#include <math.h>

#define COUNT_LEAST 200 /* for a measurement */
#define PERIOD_MOST UINT16_MAX
#define SMOOTHING   0.25 /* weight of a new measurement */
#define TOO_MANY    1.1	 /* a period is kept while it costs less than so much of the budget... */
#define TOO_FEW	    0.7	 /* ...and more than so much of it */

/* The share of the budget that a period takes, 1: all of it. */
static double load(const struct pace *p, double period)
{
	const struct pace_config *c = &p->config;
	double by_cost =
		c->hz / period * (p->cost_ns + c->drain_ns) * 100 / 1e9 / c->budget_percent;
	double by_rate = c->most_hz > 0 ? c->hz / period / c->most_hz : 0;

	return fmax(by_cost, by_rate);
}

static uint16_t choose(const struct pace *p)
{
	double period = ceil(load(p, 1));

	if (!(p->config.budget_percent > 0) || !(period <= PERIOD_MOST))
		return 0;
	return period < 1 ? 1 : (uint16_t)period;
}

void pace_start(struct pace *p, const struct pace_config *config)
{
	*p = (struct pace){.config = *config, .cost_ns = config->cost_ns};
	p->period = choose(p);
}

/* A period that changes with every measurement would make what is followed of unequal weight for
 * nothing. */
static bool adapt(struct pace *p)
{
	uint32_t before = p->period;

	if (load(p, p->period) < TOO_MANY && (p->period == 1 || load(p, p->period) > TOO_FEW))
		return false;
	p->period = choose(p);
	return p->period != before;
}

bool pace_change(struct pace *p, double budget_percent, double hz)
{
	p->config.budget_percent = budget_percent;
	p->config.hz = hz;
	return p->period && adapt(p);
}

bool pace_update(struct pace *p, uint64_t count, uint64_t spent_ns)
{
	uint64_t grown = count - p->count;
	double cost;

	if (!p->period || count < p->count || spent_ns < p->spent_ns || grown < COUNT_LEAST)
		return false;
	cost = (double)(spent_ns - p->spent_ns) / (double)grown;
	p->cost_ns += SMOOTHING * (cost - p->cost_ns);
	p->count = count;
	p->spent_ns = spent_ns;
	return adapt(p);
}

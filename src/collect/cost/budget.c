/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/budget.h"

#include <math.h>

/* Of one CPU: with less at work, what the kernel does has nobody to slow. */
#define BUSY_LEAST 0.1
/* A rate rises only to what leaves a little, or it would fall again. */
#define ROOM 0.9

double budget_factor(unsigned step)
{
	return exp2(-0.5 * step);
}

static struct budget_use use_between(const struct budget *b, const struct budget_look *from,
				     const struct budget_look *to)
{
	double lasted = fmax((double)(to->now_ns - from->now_ns), 1);
	double busy = fmax(to->busy_ns - from->busy_ns, BUSY_LEAST * lasted);
	double all = fmax(b->config.cpus, 1) * lasted;
	struct budget_use use = {.sum = 0};

	for (enum budget_part p = 0; p < BUDGET_PARTS; p++) {
		double of = p >= BUDGET_COLLECTOR ? all : busy;

		use.percent[p] = 100 * fmax(to->spent_ns[p] - from->spent_ns[p], 0) / of;
		use.sum += use.percent[p];
	}
	return use;
}

struct budget_use budget_since_start(const struct budget *b, const struct budget_look *look)
{
	return use_between(b, &b->first, look);
}

void budget_start(struct budget *b, const struct budget_config *config,
		  const struct budget_look *look)
{
	*b = (struct budget){.config = *config, .first = *look, .last = *look};
}

/* What is held against the budget: not a rate that the user wants whatever it costs. */
static double held(const struct budget *b)
{
	return b->window.sum - (b->config.fixed_rate ? b->window.percent[BUDGET_INTERRUPTS] : 0);
}

/* What a step lowers, at the step that there was. */
static double lowered(const struct budget *b)
{
	const double *percent = b->window.percent;
	double sum = b->config.fixed_rate ? 0 : percent[BUDGET_INTERRUPTS];

	for (enum budget_part p = BUDGET_FOLLOWERS; p < BUDGET_PROGRAMS; p++)
		sum += percent[p];
	return sum;
}

/* What the window would have cost at another step, with that much of what no step lowers. */
static double predict(const struct budget *b, unsigned step, double rest)
{
	return lowered(b) * budget_factor(step) / budget_factor(b->step) + rest;
}

static double most_of(const double *values, unsigned count)
{
	double most = 0;

	for (unsigned i = 0; i < count; i++)
		most = fmax(most, values[i]);
	return most;
}

static unsigned choose(const struct budget *b, double rest)
{
	unsigned step = b->step;

	if (held(b) > b->config.percent) {
		while (step + 1 < BUDGET_STEPS && predict(b, step, rest) > b->config.percent)
			step++;
		return step;
	}
	if (step && b->since >= BUDGET_CALM &&
	    predict(b, step - 1, most_of(b->rest, BUDGET_CALM)) <= ROOM * b->config.percent)
		step--;
	return step;
}

/* What was new is paid for once, while a rate that falls stays low for minutes. What goes on and on
 * counts in full in the end: then it is the allowance that it takes. */
static void spread_helpers(struct budget *b)
{
	double *now = &b->window.percent[BUDGET_HELPERS], mean = 0;

	b->helpers[b->windows % BUDGET_SPREAD] = b->windows ? *now : 0;
	for (unsigned i = 0; i < BUDGET_SPREAD; i++)
		mean += b->helpers[i] / BUDGET_SPREAD;
	mean = fmin(mean, BUDGET_HELPERS_SHARE * b->config.percent);
	b->window.sum += mean - *now;
	*now = mean;
}

bool budget_update(struct budget *b, const struct budget_look *look)
{
	unsigned step;
	double rest;

	if (look->now_ns < b->last.now_ns + BUDGET_WINDOW_NS)
		return false;
	b->window = use_between(b, &b->last, look);
	spread_helpers(b);
	b->last = *look;
	rest = held(b) - lowered(b);
	b->rest[b->windows++ % BUDGET_CALM] = rest;
	b->since++;
	/* All that runs is new in the first: of the start, still. */
	if (b->windows == 1)
		return false;
	b->over += held(b) > b->config.percent;
	step = choose(b, rest);
	if (step == b->step)
		return false;
	b->step = step;
	b->since = 0;
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/cost/cost_cache.h"
#include "collect/cost/governor.h"

struct attachment {
	struct sampler *sampler;
	int link;
	bool nothing; /* the program that does nothing */
};

static int attach(void *arg, int perf_fd)
{
	struct attachment *a = arg;

	if (a->link >= 0)
		close(a->link);
	a->link = sampler_attach(a->sampler, perf_fd, a->nothing, NULL);
	return a->link < 0 ? a->link : 0;
}

/*
 * The next rate down of a fixed series of steps of about 12%. Measured costs differ a little from
 * run to run; rates, and so periods, are then mostly the same, and the samples of several epochs
 * add up.
 */
static double step_down(double hz)
{
	static const double steps[] = {1,   1.12, 1.25, 1.4, 1.6, 1.8, 2,   2.25, 2.5, 2.8,
				       3.2, 3.6,  4,	4.5, 5,	  5.6, 6.3, 7.1,  8,   9};
	double scale = pow(10, floor(log10(hz))), best = scale;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i] * scale <= hz * (1 + 1e-9))
			best = steps[i] * scale;
	return best;
}

static int measure(const struct event *event, struct sampler *sampler, struct governor_cost *ret,
		   struct diag *diag)
{
	struct attachment a = {.sampler = sampler, .link = -1};
	int r = governor_measure(event, -1, attach, &a, ret, diag);

	if (a.link >= 0)
		close(a.link);
	return r;
}

/* What the budget pays for: interrupts and what follows them, with each or with some. */
static double paid_hz(const struct rate_wish *wish, double cost_ns, unsigned count)
{
	double most = governor_kernel_max_hz("");
	double followed = wish->follow_hz * wish->follow_ns * count * 100 / 1e9;
	double all =
		governor_choose_rate(cost_ns + wish->follow_ns, wish->budget_percent, count, most)
			.hz;

	if (wish->follow_hz >= all)
		return all;
	return governor_choose_rate(cost_ns, wish->budget_percent - followed, count, most).hz;
}

double rate_governed_hz(const struct rate_wish *wish, double cost_ns, unsigned count)
{
	double hz = paid_hz(wish, cost_ns, count);

	return step_down(wish->most_hz > 0 ? fmin(hz, wish->most_hz) : hz);
}

/* The cost of an interrupt as remembered, else measured, and the rate that follows. */
static int choose(const struct rate_wish *wish, const struct event *event, unsigned count,
		  struct sampler *sampler, struct rate *ret, struct diag *diag)
{
	struct governor_cost cost;
	int r = 0;

	ret->remembered = !cost_cache_read(NULL, event, wish->scoped, &cost, &ret->cost_age_s);
	if (!ret->remembered)
		r = measure(event, sampler, &cost, diag);
	if (r)
		return r;
	if (!ret->remembered && cost.measured && governor_tells(&cost, cost.cost_ns))
		cost_cache_write(NULL, event, wish->scoped, &cost);
	ret->cost_ns = cost.cost_ns;
	ret->charge_ns = governor_charge(&cost);
	ret->hz = rate_governed_hz(wish, ret->charge_ns, count);
	ret->cost_spread_ns = cost.error_ns;
	ret->busy = cost.busy;
	ret->note = cost.why;
	ret->set_bytes = cost.measured ? cost.set_bytes : SIZE_MAX;
	return 0;
}

int rate_choose(const struct rate_wish *wish, const struct event *events, size_t count,
		struct sampler *sampler, struct rate *ret, uint64_t *periods, struct diag *diag)
{
	struct rate rate = {.hz = wish->hz, .note = ""};
	struct governor_cost cost;
	unsigned chosen = 0;
	uint64_t age_s;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		chosen += events[i].period == 0;
	if (chosen && wish->hz <= 0)
		r = choose(wish, &events[0], chosen, sampler, &rate, diag);
	else if (!cost_cache_read(NULL, &events[0], wish->scoped, &cost, &age_s))
		rate.charge_ns = governor_charge(&cost);
	if (r)
		return r;
	for (size_t i = 0; i < count; i++)
		periods[i] = events[i].period ?: governor_period("", &events[i], rate.hz);
	*ret = rate;
	return 0;
}

struct rate_watch {
	struct attachment attachment;
	struct governor_watch *governor;
	double start_ns; /* what a sample cost at the start */
};

int rate_watch_new(const struct rate *rate, const struct event *e, struct sampler *sampler,
		   struct rate_watch **ret, struct diag *diag)
{
	struct rate_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return diag_fail(diag, ENOMEM, "out of memory");
	w->start_ns = rate->cost_ns;
	w->attachment = (struct attachment){sampler, -1, true};
	int r = governor_watch_new(e, rate->set_bytes, attach, &w->attachment, &w->governor, diag);
	if (r)
		rate_watch_free(w);
	else
		*ret = w;
	return r;
}

void rate_watch_free(struct rate_watch *w)
{
	if (!w)
		return;
	if (w->attachment.link >= 0)
		close(w->attachment.link);
	governor_watch_free(w->governor);
	free(w);
}

bool rate_look(struct rate_watch *w, const struct rate_wish *wish, unsigned count,
	       struct rate *rate, double *ret_hz, uint64_t *ret_took_ns)
{
	struct governor_cost cost;

	if (!governor_watch_look(w->governor, &cost, ret_took_ns) ||
	    !governor_tells(&cost, rate->cost_ns))
		return false;
	/* Not kept for the next start, from which on as far again would be believed. */
	cost.cost_ns = governor_trust(w->start_ns, cost.cost_ns);
	rate->cost_ns = cost.cost_ns;
	rate->charge_ns = governor_charge(&cost);
	rate->cost_spread_ns = cost.error_ns;
	rate->remembered = rate->busy = false;
	rate->note = "";
	*ret_hz = rate_governed_hz(wish, rate->charge_ns, count);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_RATE_H
#define CULPRIT_COLLECT_COST_RATE_H

#include <stdint.h>
#include "collect/events/event.h"
#include "collect/events/sampler.h"
#include "util/diag.h"

/* How often each event is sampled: as the user says, or as the governor chooses from what it costs
 * here. */
struct rate {
	double hz;			/* of each event on a busy CPU */
	double cost_ns, cost_spread_ns; /* of one interrupt as measured; 0: not measured */
	double charge_ns; /* that, and what chance may hide of it: also where the user said
			   * how often, if an earlier start measured it; 0: not known */
	bool remembered;  /* it was measured cost_age_s ago */
	uint64_t cost_age_s;
	bool busy;	  /* it was measured beside other work */
	const char *note; /* what to know about the choice, "" when nothing; static */
	size_t set_bytes; /* of struct governor_cost; SIZE_MAX: not known */
};

struct rate_wish {
	double hz;	       /* 0: the governor chooses */
	double most_hz;	       /* of what the governor chooses; 0: as often as the budget allows */
	double budget_percent; /* slowdown, less what is not for the interrupts */
	/* Of each event, follow_hz samples a second at most cost follow_ns beside the interrupt. */
	double follow_hz, follow_ns;
	bool scoped; /* as the sampler's */
};

/*
 * Chooses the rate, and the mean period of every event that was not given one. If the governor
 * chooses, it goes by what an interrupt costs, measured with the real program on this machine (0.2
 * to 0.4 s) or remembered (cost_cache.h).
 */
int rate_choose(const struct rate_wish *wish, const struct event *events, size_t count,
		struct sampler *sampler, struct rate *ret, uint64_t *periods, struct diag *diag);

/* What the governor chooses for `count` events at a cost. */
double rate_governed_hz(const struct rate_wish *wish, double cost_ns, unsigned count);

/*
 * The cost that the governor measured or remembered is looked at again while samples are taken
 * (governor_watch_look). rate_watch_new is for the time before the start, while events may be
 * opened. rate_look: true with the new cost in rate, and in *ret_hz the rate that it would choose
 * by that.
 */
struct rate_watch;
int rate_watch_new(const struct rate *rate, const struct event *e, struct sampler *sampler,
		   struct rate_watch **ret, struct diag *diag);
void rate_watch_free(struct rate_watch *w);
bool rate_look(struct rate_watch *w, const struct rate_wish *wish, unsigned count,
	       struct rate *rate, double *ret_hz, uint64_t *ret_took_ns);

#endif

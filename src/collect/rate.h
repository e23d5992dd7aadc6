/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_RATE_H
#define CULPRIT_COLLECT_RATE_H

#include <stdint.h>
#include "collect/event.h"
#include "collect/sampler.h"
#include "util/diag.h"

/* How often each event is sampled: as the user says, or by the governor from what an interrupt
 * costs on this machine. */
struct rate {
	double hz;			/* of each event on a busy CPU */
	double cost_ns, cost_spread_ns; /* of one interrupt as measured; 0: not measured */
	double charge_ns;		/* the same, for the budget: also where the user said
					 * how often, if an earlier start measured it; 0: not known */
	bool remembered;		/* it was measured so long ago */
	uint64_t cost_age_s;
	const char *note; /* what to know about the choice, "" when nothing; static */
};

struct rate_wish {
	double hz;	       /* 0: the governor chooses */
	double budget_percent; /* slowdown; what others than the interrupts take is taken off */
	/* So many samples of each event a second, at most, cost so much beside their interrupt. */
	double follow_hz, follow_ns;
	bool scoped; /* as the sampler's */
};

/*
 * Chooses the rate, and the mean period of every event that was not given one. When the governor is
 * to choose, by what an interrupt costs, measured with the real program on this machine (0.2 to 0.4
 * s) or remembered (cost_cache.h).
 */
int rate_choose(const struct rate_wish *wish, const struct event *events, size_t count,
		struct sampler *sampler, struct rate *ret, uint64_t *periods, struct diag *diag);

#endif

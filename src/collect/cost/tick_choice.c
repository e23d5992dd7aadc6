/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/tick_choice.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "collect/cost/cost_cache.h"
#include "collect/cost/governor.h"
#include "collect/events/tick.h"

static bool is_candidate(const struct event *e, struct diag *ret_why)
{
	*ret_why = (struct diag){{0}};
	return !strcmp(e->name, "cpu-clock") && !tick_offered(ret_why);
}

static bool is_dear(double interrupt_ns, struct diag *ret_why)
{
	if (interrupt_ns >= TICK_CHOICE_DEAR_NS)
		return true;
	diag_fail(ret_why, EOPNOTSUPP, "a timer's interrupt costs %.3g us here, less than %.3g",
		  interrupt_ns / 1e3, TICK_CHOICE_DEAR_NS / 1e3);
	return false;
}

bool tick_choice_at(const struct event *e, double interrupt_ns, struct diag *ret_why)
{
	return is_candidate(e, ret_why) && is_dear(interrupt_ns, ret_why);
}

/* Without the program, which takes a microsecond at most and is not loaded yet: so it is not
 * remembered. */
static int find_cost(const struct event *e, struct governor_cost *ret, struct diag *diag)
{
	uint64_t age_s;

	if (!cost_cache_read(NULL, e, false, ret, &age_s))
		return 0;
	return governor_measure(e, -1, NULL, NULL, ret, diag);
}

bool tick_choice_make(const struct event *e, struct diag *ret_why)
{
	struct governor_cost cost;

	return is_candidate(e, ret_why) && !find_cost(e, &cost, ret_why) &&
	       is_dear(cost.cost_ns, ret_why);
}

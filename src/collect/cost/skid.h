/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_SKID_H
#define CULPRIT_COLLECT_COST_SKID_H

#include <stdint.h>
#include "collect/events/event.h"
#include "machine/skid.h"
#include "util/diag.h"

/*
 * Where samples of an event land, measured on this machine by the collector's own program over
 * small loops (skid_loops.h), about 0.7 s once; kept in a cache for each processor model, kernel
 * and event. machine/skid.h says what the figures mean.
 */
struct skid_facts {
	char skid[MACHINE_SKID_TEXT]; /* machine_skid_format's; "" when it was not measured */
	double clock_hz; /* cycles a second while it was measured, by a chain of additions; 0: not
			    known */
};

/*
 * From the cache only. -ENOENT: it has not been measured here with this event.
 */
int skid_recall(const struct event *e, struct skid_facts *ret);
/*
 * Measures and fills the cache (a cache that cannot be written is not an error). Runs on one CPU at
 * the event's best rate. -EOPNOTSUPP: this event does not count time, or there are no loops for
 * this processor; -ENODATA: too few samples came; what event_open and sampler_new fail with.
 */
int skid_measure(const struct event *e, struct skid_facts *ret, struct diag *diag);
/* True for events that a skid can be measured of: clocks and cycles. */
bool skid_is_measurable(const struct event *e);

#endif

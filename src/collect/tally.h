/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_TALLY_H
#define CULPRIT_COLLECT_TALLY_H

#include <stdint.h>
#include "bpf/wire.h"
#include "collect/cost/clock_meter.h"
#include "collect/cost/core_measure.h"
#include "collect/cost/rate.h"
#include "collect/cost/skid.h"
#include "collect/events/sampler.h"
#include "collect/process/resolve.h"
#include "collect/session.h"
#include "db/batch.h"
#include "db/counters.h"

/*
 * What a flush says beside the counts themselves: how many samples were taken, lost and unknown,
 * how long each event was enabled and running, and on what machine. Counters are written as what
 * was added since the flush before, so that the segments of an epoch add up.
 */
struct tally {
	const struct session_config *config;
	const struct rate *rate;
	const struct skid_facts *skid; /* of each event; empty where it is not known */
	const struct core_facts *core;
	const struct clock_meter *clock;
	struct sampler_event_times times[WIRE_EVENTS]; /* as last read */
	uint64_t *before; /* of each counter that is stored, as of the last flush */
	size_t room;
	/* While it flushes. */
	struct db_batch *batch;
	uint32_t event;
	size_t next; /* of before */
};

/* config, rate, skid, core and clock are borrowed. */
void tally_start(struct tally *t, const struct session_config *config, const struct rate *rate,
		 const struct skid_facts *skid, const struct core_facts *core,
		 const struct clock_meter *clock);
void tally_free(struct tally *t);
/* Adds what is new of the events, and the facts, to the batch. All other counters go to tally_take
 * after it, in the same order each time. */
void tally_flush(struct tally *t, struct db_batch *batch, const struct sampler *sampler,
		 const struct resolver *resolver);
/* As a counter_taker's, with a struct tally. */
void tally_take(void *arg, const struct counter *c, uint64_t value);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_TALLY_H
#define CULPRIT_COLLECT_TALLY_H

#include <stdint.h>
#include "bpf/wire.h"
#include "collect/files.h"
#include "collect/keeper.h"
#include "collect/process.h"
#include "collect/rate.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "collect/session.h"
#include "collect/sideband.h"
#include "collect/skid.h"
#include "db/batch.h"
#include "image/kernel.h"

/*
 * What a flush says beside the counts themselves: how many samples were taken, lost and unknown,
 * how long each event was enabled and running, and on what machine. Counters are written as what
 * was added since the flush before, so that the segments of an epoch add up.
 */
struct tally {
	const struct session_config *config;
	const struct rate *rate;
	struct resolver_event_counters events[WIRE_EVENTS]; /* as of the last flush */
	struct sampler_event_times times[WIRE_EVENTS];
	struct sampler_counters sampler;
	const struct skid_facts *skid; /* of each event; empty where it is not known */
	uint64_t records_lost, malformed, missed_s;
	uint64_t records_left_out, left_out, named_late, files_crowded, processes_refused,
		files_refused, mappings_refused, symbols_refused;
	uint64_t cgroups_refused, threads_refused, kernel_refused, symbols_unwritten;
	uint64_t code_refused, lines_refused;
};

/* Who counts; all borrowed. */
struct tally_sources {
	const struct sampler *sampler;
	const struct resolver *resolver;
	const struct sideband *sideband;
	const struct processes *processes;
	uint64_t left_out; /* processes, by the scope */
	struct files *files;
	struct keeper *keeper;
	const struct image_kernel *kernel; /* NULL: its addresses are hidden */
};

/* config, rate and skid are borrowed. */
void tally_start(struct tally *t, const struct session_config *config, const struct rate *rate,
		 const struct skid_facts *skid);
/* Adds what is new to the batch. */
void tally_flush(struct tally *t, struct db_batch *batch, const struct tally_sources *from);

#endif

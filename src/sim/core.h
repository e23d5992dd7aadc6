/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_CORE_H
#define CULPRIT_SIM_CORE_H

#include "machine/simulate.h"
#include "sim/code.h"
#include "sim/setup.h"
#include "sim/memory.h"
#include "sim/predict.h"
#include "sim/sample.h"
#include "sim/truth.h"

/*
 * One core of the model, which runs one thread: the simulator of machine/ with caches, predictor
 * and the wrong path around it. Either in detail, or only keeping caches, translation and predictor
 * warm (functional warming: R. Wunderlich et al., SMARTS, ISCA 2003).
 */
struct sim_schedule {
	uint64_t every;	 /* of so many instructions one is run in detail; 1: all */
	uint64_t window; /* instructions in detail at a time */
	uint64_t before; /* in detail before each window, unobserved: the pipeline fills */
};

struct sim_core_counters {
	uint64_t instructions, warmed, unobserved,
		observed;	   /* the first is the sum of the others */
	uint64_t fetched, aborted; /* observed, wrong path included */
	uint64_t cycles;	   /* of those observed */
	uint64_t branches, mispredicted, blocks_unknown;
};

struct sim_core;

/* All pointers must outlive it. sampler is copied. -ENOMEM. */
int sim_core_new(const struct sim_config *config, struct machine_model *model,
		 struct memory_shared *shared, struct sim_code *code, struct sim_truth *truth,
		 const struct sim_schedule *schedule, const struct sim_sampler *sampler,
		 struct sim_core **ret);
void sim_core_free(struct sim_core *c);
/* Another thread begins on it, with the caches as they are. key: of its process, for the class of
 * its data's pages (inst_set_address). */
void sim_core_begin(struct sim_core *c, uint32_t thread, uint64_t key);
/* An execution of a block. */
void sim_core_run(struct sim_core *c, const struct sim_run *run);
/* The thread ended. */
void sim_core_end(struct sim_core *c);
const struct sim_core_counters *sim_core_read(const struct sim_core *c);

#endif

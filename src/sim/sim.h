/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_SIM_H
#define CULPRIT_SIM_SIM_H

#include "sim/code.h"
#include "sim/setup.h"
#include "sim/core.h"
#include "sim/sample.h"
#include "sim/truth.h"

/*
 * A program's run on a modelled core: started under qemu, its trace simulated as it comes, one
 * modelled core for each of its threads.
 */
struct sim;

#define SIM_PAIR_WINDOW 768 /* fetched instructions: a reorder buffer, its queue, a wrong path */

struct sim_options {
	struct sim_config config;
	struct sim_schedule schedule;
	uint64_t period;      /* fetched instructions between samples; 0: none are taken */
	unsigned pair_window; /* 0: single samples */
	uint64_t seed;
	/* Each sample, as it is taken. */
	void (*take)(void *arg, const struct sim *s, const struct sim_pair *pair);
	/* Called now and then: a negative errno ends the run with what there is. NULL: none. */
	int (*watch)(void *arg, const struct sim *s);
	void *arg;
};

struct sim_result {
	struct sim_core_counters total; /* of all threads */
	struct sim_trace_counters trace;
	uint64_t threads, samples_refused;
	int status;	 /* of the program, as waitpid() tells it */
	bool met_avx512; /* it ended at an instruction of AVX-512, which qemu lacks */
	bool stopped;	 /* by the watch */
};

/* options is copied. -ENOMEM. */
int sim_new(const struct sim_options *o, struct sim **ret, struct diag *diag);
void sim_free(struct sim *s);
/* Runs a command to its end. Once it was started, 0, whatever became of it. */
int sim_run(struct sim *s, char *const *argv, struct sim_result *ret, struct diag *diag);
/* The same of a trace of bytes: for tests. */
int sim_run_trace(struct sim *s, const void *data, size_t size, struct sim_result *ret,
		  struct diag *diag);

const struct sim_code *sim_read_code(const struct sim *s);
const struct sim_truth *sim_read_truth(const struct sim *s);
/* Instructions so far. */
uint64_t sim_instructions(const struct sim *s);
/* Where the costs of instructions are from. */
const char *sim_costs(const struct sim *s);

#endif

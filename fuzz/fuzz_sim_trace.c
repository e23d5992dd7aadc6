/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The trace of a program that wrote over it: the head, records of code, words. */
#include <stddef.h>
#include <stdint.h>
#include "sim/code.h"
#include "sim/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *arg, const struct sim_pair *pair)
{
	(void)arg, (void)pair;
}

static void run(struct sim_trace *t, struct machine_model *model, const struct sim_config *config)
{
	const struct sim_schedule schedule = {2, 50, 10};
	struct sim_sampler sampler = {.take = take};
	struct memory_shared shared;
	struct sim_truth truth = {0};
	struct sim_code *code = NULL;
	struct sim_core *core = NULL;
	struct sim_run next;
	struct diag diag;

	sim_sampler_init(&sampler, 5, 10, 1);
	if (!memory_shared_init(&shared, config) && !sim_code_new(model, t, &code, &diag) &&
	    !sim_core_new(config, model, &shared, code, &truth, &schedule, &sampler, &core)) {
		for (unsigned lane = 0; lane < WIRE_LANES; lane++) {
			sim_core_begin(core, lane, 1);
			while (sim_trace_next(t, lane, &next) > 0)
				sim_core_run(core, &next);
			sim_core_end(core);
		}
	}
	sim_core_free(core);
	sim_code_free(code);
	sim_truth_free(&truth);
	memory_shared_free(&shared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine_model *model;
	static struct sim_config config;
	struct sim_trace *t;
	struct diag diag;

	if (!model) {
		sim_config_init(&config, machine_core_by_name("zen3"));
		config.core.cache_kbytes[2] = 512;
		config.core.cache_kbytes[1] = 64;
		if (machine_model_new(&config.core, MACHINE_SOURCE_BUILTIN, &model, &diag))
			return 0;
	}
	if (!sim_trace_of(data, size, &t, &diag)) {
		run(t, model, &config);
		sim_trace_free(t);
	}
	return 0;
}

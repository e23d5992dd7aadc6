/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim/launch.h"
#include "util/hash.h"

#define TURN	  512 /* blocks of a lane before another has its turn */
#define IDLE_US	  100
#define NO_THREAD UINT64_MAX

struct lane {
	struct sim_core *core;
	uint64_t thread; /* process and thread; NO_THREAD: none runs there */
	struct sim_core_counters told;
};

struct sim {
	struct sim_options options;
	struct machine_model *model;
	struct sim_trace *trace;
	struct sim_code *code;
	struct memory_shared shared;
	struct sim_truth truth;
	struct lane lanes[WIRE_LANES];
	struct sim_result result;
	uint64_t last_end; /* where the last block that any thread ran ends */
	pid_t process;
	bool over;
};

static void take(void *arg, const struct sim_pair *pair)
{
	struct sim *s = arg;

	if (s->options.take)
		s->options.take(s->options.arg, s, pair);
}

int sim_new(const struct sim_options *o, struct sim **ret, struct diag *diag)
{
	struct sim *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->options = *o;
	for (unsigned i = 0; i < WIRE_LANES; i++)
		s->lanes[i].thread = NO_THREAD;
	r = machine_model_new(&s->options.config.core, MACHINE_SOURCE_BEST, &s->model, diag);
	if (!r && memory_shared_init(&s->shared, &s->options.config))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		sim_free(s);
	else
		*ret = s;
	return r;
}

void sim_free(struct sim *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < WIRE_LANES; i++)
		sim_core_free(s->lanes[i].core);
	sim_truth_free(&s->truth);
	memory_shared_free(&s->shared);
	sim_code_free(s->code);
	sim_trace_free(s->trace);
	machine_model_free(s->model);
	free(s);
}

static int core_new(struct sim *s, unsigned lane)
{
	struct sim_sampler sampler = {.take = take, .arg = s};

	sim_sampler_init(&sampler, s->options.period, s->options.pair_window,
			 hash_u64(s->options.seed + lane));
	return sim_core_new(&s->options.config, s->model, &s->shared, s->code, &s->truth,
			    &s->options.schedule, &sampler, &s->lanes[lane].core);
}

static int begin_thread(struct sim *s, unsigned lane, uint32_t process, uint32_t thread)
{
	struct lane *l = &s->lanes[lane];
	int r = l->core ? 0 : core_new(s, lane);

	if (r)
		return r;
	l->thread = (uint64_t)process << 32 | thread;
	s->result.threads++;
	sim_core_begin(l->core, thread, hash_u64(s->options.seed ^ process));
	return 0;
}

/* Runs what a lane has, for a turn. 1: it had something; 0: nothing; or a negative errno. */
static int run_lane(struct sim *s, unsigned lane)
{
	struct lane *l = &s->lanes[lane];
	uint32_t process, thread;
	struct sim_run run;
	int r = 0;

	if (!sim_trace_lane(s->trace, lane, &process, &thread))
		return 0;
	if (l->thread == NO_THREAD)
		r = begin_thread(s, lane, process, thread);
	if (r)
		return r;
	for (unsigned i = 0; i < TURN; i++) {
		r = sim_trace_next(s->trace, lane, &run);
		if (r == -EPIPE) {
			sim_core_end(l->core);
			l->thread = NO_THREAD;
			return 1;
		}
		if (r <= 0)
			return i > 0;
		sim_core_run(l->core, &run);
		const struct sim_block *b = run.next ? NULL : sim_code_block(s->code, run.block);
		if (b)
			s->last_end = b->end;
	}
	return 1;
}

/* The program, and all that it forked, are gone: lanes end where they are. */
static void look_for_end(struct sim *s)
{
	uint32_t process, thread;

	if (s->process && waitpid(s->process, &s->result.status, WNOHANG) == s->process)
		s->process = 0;
	if (s->process)
		return;
	for (unsigned i = 0; i < WIRE_LANES; i++)
		if (sim_trace_lane(s->trace, i, &process, &thread) && process &&
		    kill((pid_t)process, 0) == 0)
			return;
	sim_trace_end(s->trace);
	s->over = true;
}

static int run_all(struct sim *s)
{
	bool over;
	int r;

	do {
		bool busy = false;

		over = s->over;
		for (unsigned i = 0; i < WIRE_LANES; i++) {
			r = run_lane(s, i);
			if (r < 0)
				return r;
			busy |= r > 0;
		}
		if (s->options.watch && s->options.watch(s->options.arg, s)) {
			s->result.stopped = true;
			sim_trace_stop(s->trace);
			return 0;
		}
		if (busy)
			over = false;
		else if (!over) {
			look_for_end(s);
			usleep(s->over ? 0 : IDLE_US);
		}
	} while (!over);
	return 0;
}

static void add_up(struct sim *s)
{
	for (unsigned i = 0; i < WIRE_LANES; i++) {
		const struct sim_core_counters *c;

		if (!s->lanes[i].core)
			continue;
		if (s->lanes[i].thread != NO_THREAD)
			sim_core_end(s->lanes[i].core);
		c = sim_core_read(s->lanes[i].core);
		s->result.total.instructions += c->instructions;
		s->result.total.warmed += c->warmed;
		s->result.total.unobserved += c->unobserved;
		s->result.total.observed += c->observed;
		s->result.total.fetched += c->fetched;
		s->result.total.aborted += c->aborted;
		s->result.total.cycles += c->cycles;
		s->result.total.branches += c->branches;
		s->result.total.mispredicted += c->mispredicted;
		s->result.total.blocks_unknown += c->blocks_unknown;
	}
}

static int run_trace(struct sim *s, struct sim_result *ret, struct diag *diag)
{
	int r = run_all(s);

	if (r == -ENOMEM || s->truth.failed)
		return diag_fail(diag, ENOMEM, "out of memory");
	add_up(s);
	sim_trace_read_counters(s->trace, &s->result.trace);
	s->result.met_avx512 = WIFSIGNALED(s->result.status) &&
			       WTERMSIG(s->result.status) == SIGILL &&
			       sim_code_is_wide(s->code, s->last_end);
	*ret = s->result;
	return 0;
}

int sim_run(struct sim *s, char *const *argv, struct sim_result *ret, struct diag *diag)
{
	char program[LAUNCH_PATH];
	int r = launch_find(argv[0], program, diag);

	if (!r)
		r = sim_trace_new(&s->trace, diag);
	if (!r)
		r = sim_code_new(s->model, s->trace, &s->code, diag);
	if (!r)
		r = launch(program, argv, sim_trace_path(s->trace), &s->process, diag);
	if (!r)
		r = run_trace(s, ret, diag);
	if (s->process) {
		kill(s->process, s->result.stopped || r ? SIGTERM : SIGCONT);
		waitpid(s->process, &ret->status, 0);
	}
	return r;
}

int sim_run_trace(struct sim *s, const void *data, size_t size, struct sim_result *ret,
		  struct diag *diag)
{
	int r = sim_trace_of(data, size, &s->trace, diag);

	if (!r)
		r = sim_code_new(s->model, s->trace, &s->code, diag);
	s->over = true;
	return r ? r : run_trace(s, ret, diag);
}

const struct sim_code *sim_read_code(const struct sim *s)
{
	return s->code;
}

const struct sim_truth *sim_read_truth(const struct sim *s)
{
	return &s->truth;
}

uint64_t sim_instructions(const struct sim *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WIRE_LANES; i++)
		sum += s->lanes[i].core ? sim_core_read(s->lanes[i].core)->instructions : 0;
	return sum;
}

const char *sim_costs(const struct sim *s)
{
	return machine_model_source(s->model);
}

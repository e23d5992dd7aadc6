/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a session says of itself, and all that its modules count. */
#include "collect/session_state.h"

void session_read_status(const struct session *s, struct session_status *ret)
{
	struct allowance_totals helpers;
	struct sampler_counters c;
	struct budget_look look;

	allowance_read(s->helpers, &helpers);
	sampler_read_counters(s->sampler, &c);
	session_look(s, &look);
	*ret = (struct session_status){
		.budget_windows = s->budget.windows,
		.budget_over = s->budget.over,
		.budget_waits = helpers.waits,
		.samples = c.samples,
		.lost = c.lost_spill,
		.rows = db_batch_rows(s->batch),
		.flushed = s->flushed,
		.cpus_missed = s->cpus_missed,
		.joined = s->joined,
		.left_out = s->left_out,
		.trimmed = s->writer ? db_writer_trimmed(s->writer) : 0,
		.rate_hz = s->rate.hz,
		.cost_ns = s->rate.cost_ns,
		.cost_spread_ns = s->rate.cost_spread_ns,
		.charge_ns = s->rate.charge_ns,
		.cost_remembered = s->rate.remembered,
		.cost_age_s = s->rate.cost_age_s,
		.cost_busy = s->rate.busy,
		.cost_note = s->rate.note,
		.budget_percent = s->config.budget_percent,
		.interrupts_percent = s->interrupts_percent,
		.budget = budget_since_start(&s->budget, &look),
		.budget_step = s->budget.step,
		.started_ns = s->started_ns,
		.cpus = sampler_cpus(s->sampler),
		.epoch = s->writer ? db_writer_epoch(s->writer) : NULL,
	};
	ret->budget_window = s->budget.windows ? s->budget.window : ret->budget;
	for (size_t i = 0; i < s->config.event_count; i++) {
		const struct resolver_event_counters *e = resolver_counters(s->resolver, i);

		ret->unknown += e->unknown_process + e->unknown_mapping + e->unknown_kernel;
		ret->lost += e->lost_memory + e->lost_storage;
	}
}

void session_each_counter(const struct session *s, const struct counter_taker *to)
{
	struct image_kernel_counts kernel = {0}; /* its addresses may be hidden */
	uint64_t malformed = sideband_malformed(s->sideband);
	struct processes_counters processes;
	struct sampler_counters sampler;
	struct keeper_counters keeper;
	struct resolver_sums resolver;
	struct files_counters files;
	struct session_status own;

	session_read_status(s, &own);
	counters_walk(&counters_of_session, &own, to);
	sampler_read_counters(s->sampler, &sampler);
	counters_walk(&counters_of_sampler, &sampler, to);
	processes_read_counters(s->processes, &processes);
	counters_walk(&counters_of_processes, &processes, to);
	files_read_counters(s->files, &files);
	counters_walk(&counters_of_files, &files, to);
	resolver_read_sums(s->resolver, &resolver);
	resolver.threads_refused += sampler.names_refused;
	counters_walk(&counters_of_resolver, &resolver, to);
	counters_walk(&counters_of_sideband, &malformed, to);
	if (s->kernel)
		kernel = image_kernel_counts(s->kernel);
	counters_walk(&counters_of_kernel, &kernel, to);
	keeper_read_counters(s->keeper, &keeper);
	counters_walk(&counters_of_keeper, &keeper, to);
	counters_walk(&counters_of_finder, &keeper.found, to);
	counters_walk(&counters_of_kept_cache, &keeper.cache, to);
	followers_each_counter(&s->followers, to);
}

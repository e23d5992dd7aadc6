/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How a session is opened, in the order in which its parts need each other, and closed. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/cost/governor.h"
#include "collect/host/host.h"
#include "collect/types/kernel_types.h"
#include "collect/session_state.h"
#include "util/clock.h"
#include "util/log.h"

#define BATCH_ROWS    262144
#define LARGE_BYTES   (1 << 18)
#define SKIDS_A_START 2 /* measured at most: each takes 0.7 s */
/* A file that takes longer to look at is given up: of the processor, and until it is answered. */
#define WORKER_NS      1000000000ull
#define WORKER_WAIT_NS 5000000000ull

static int open_followers(struct session *s, struct diag *diag)
{
	struct follower_config config = {
		.sampler = s->sampler,
		.files = s->files,
		.worker = s->worker,
		.batch = s->batch,
		.keeper = s->keeper,
		.allowance = s->helpers,
		.make_room = session_make_room,
		.follow = session_follow_processes,
		.arg = s,
		.budget_percent = s->config.budget_percent,
		.rate_hz = s->config.rate_hz,
		.originals = &s->config.originals,
		.types = s->types,
	};

	return followers_open(&s->followers, s->config.followers, s->config.follower_count, &config,
			      diag);
}

static int open_programs(struct session *s, struct diag *diag)
{
	struct sampler_config config = {
		.events = s->config.events,
		.periods = s->periods,
		.event_count = s->config.event_count,
		.scoped = s->config.scoped,
		.randomize = !s->config.fixed_periods,
		.seed = clock_wall_ns(),
	};
	char types[KERNEL_TYPES_PATH];
	int fd = kernel_types_open(NULL, types), r;

	s->types = fd < 0 ? NULL : types;
	config.types = s->types;
	r = sampler_new(&config, &s->sampler, diag);
	if (!r)
		r = open_followers(s, diag);
	s->types = NULL;
	if (fd >= 0)
		close(fd);
	return r;
}

/* What the rate of samples must leave of the budget. */
static void wish_for_followers(const struct session *s, struct rate_wish *wish)
{
	struct follower_plan plan = followers_plan(&s->followers);

	wish->budget_percent *= 1 - BUDGET_REST_SHARE - plan.share;
	wish->follow_hz = plan.hz;
	wish->follow_ns = plan.each_ns;
}

static int open_collection(struct session *s, struct diag *diag)
{
	struct rate_wish *wish = &s->wish;

	*wish = (struct rate_wish){.hz = s->config.rate_hz,
				   .most_hz = s->config.most_hz,
				   .budget_percent = s->config.budget_percent,
				   .scoped = s->config.scoped};

	/* Opened at a harmless rate; the real one is known once an interrupt has been measured. */
	for (size_t i = 0; i < s->config.event_count; i++)
		s->periods[i] = governor_period("", &s->config.events[i], 100);
	/* Records first: they tell where the kernel puts our own programs, else a sample in one of
	 * them would have all of the kernel's names read. */
	int r = sideband_new(&s->sideband, diag);
	if (!r)
		r = open_programs(s, diag);
	wish_for_followers(s, wish);
	s->interrupts_percent = wish->budget_percent;
	if (!r)
		r = rate_choose(wish, s->config.events, s->config.event_count, s->sampler, &s->rate,
				s->periods, diag);
	/* Where it cannot be, the cost stays what it is. */
	if (!r && s->rate.cost_ns > 0)
		rate_watch_new(&s->rate, &s->config.events[0], s->sampler, &s->watch, NULL);
	if (!r)
		sampler_set_periods(s->sampler, s->periods);
	return r;
}

static struct allowance *open_allowance(const struct session *s)
{
	double ns_a_second = s->config.budget_percent / 100 * 1e9 *
			     (double)sysconf(_SC_NPROCESSORS_ONLN) * BUDGET_HELPERS_SHARE;

	return allowance_new(ns_a_second, ns_a_second * BUDGET_BURST_S, clock_monotonic_ns());
}

static int open_rooms(struct session *s, struct diag *diag)
{
	struct image_worker_limits patience = {
		.memory_bytes = 256u << 20, .time_ns = WORKER_NS, .wait_ns = WORKER_WAIT_NS};

	s->worker = image_worker_new(&patience);
	s->files = s->worker ? files_new(&patience) : NULL;
	s->processes = s->files ? processes_new(s->files) : NULL;
	s->batch = db_batch_new(BATCH_ROWS);
	s->keeper = keeper_new(s->config.db_path, db_writer_machine(s->writer));
	s->helpers = open_allowance(s);
	if (!s->processes || !s->batch || !s->keeper || !s->helpers)
		return diag_fail(diag, ENOMEM, "out of memory");
	keeper_set_allowance(s->keeper, s->helpers);
	keeper_set_cache(s->keeper, kept_cache_new(NULL));
	return 0;
}

/* Without the right to see kernel addresses, kernel samples stay unknown, and are counted so. */
static void open_kernel(struct session *s)
{
	struct diag why;

	if (image_kernel_new_core("", &s->kernel, &why))
		log_warning("%s", why.text);
}

static int open_resolver(struct session *s, struct diag *diag)
{
	struct resolver_config config = {
		.processes = s->processes,
		.files = s->files,
		.kernel = s->kernel,
		.batch = s->batch,
		.labels = &s->labels,
		.events = s->config.events,
		.periods = s->periods,
		.event_count = s->config.event_count,
		.with_pid = s->config.with_pid,
		.governed = s->rate.cost_ns > 0,
		.randomized = !s->config.fixed_periods,
		.make_room = session_make_room,
		.saw_image = keeper_want_image,
		.keeper = s->keeper,
		.arg = s,
		.originals = s->config.originals,
	};

	s->resolver = resolver_new(&config);
	return s->resolver ? 0 : diag_fail(diag, ENOMEM, "out of memory");
}

/* Which event's samples are followed: the first clock that runs, else the first. */
static size_t followed_event(const struct session *s)
{
	for (size_t i = 0; i < s->config.event_count; i++)
		if (event_is_clock(&s->config.events[i]) &&
		    (!s->config.events[i].tick || sampler_tick(s->sampler)))
			return i;
	return 0;
}

void session_follow_event(const struct session *s)
{
	sampler_follow_event(s->sampler, (uint32_t)followed_event(s));
}

double session_followed_hz(const struct session *s)
{
	size_t event = followed_event(s);

	if (event_is_clock(&s->config.events[event]))
		return 1e9 / (double)s->periods[event];
	return s->rate.hz > 0 ? s->rate.hz : GOVERNOR_MAX_HZ;
}

static int start_followers(struct session *s, struct diag *diag)
{
	struct follower_start start = {.resolver = s->resolver,
				       .event = (uint32_t)followed_event(s),
				       .hz = session_followed_hz(s)};

	session_follow_event(s);
	int r = followers_start(&s->followers, &start);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

/* Where the events' samples land: known from an earlier run, or measured now. Reports do without
 * when it cannot be. */
static void learn_skid(struct session *s)
{
	unsigned measured = 0;

	for (size_t i = 0; i < s->config.event_count && i < WIRE_EVENTS; i++) {
		const struct event *e = &s->config.events[i];
		struct skid_facts *f = &s->skid[i];
		struct diag unused;

		if (!skid_is_measurable(e) || !skid_recall(e, f) || measured++ == SKIDS_A_START)
			continue;
		skid_measure(e, f, &unused); /* reports say what was not measured */
	}
}

int session_new(const struct session_config *config, struct session **ret, struct diag *diag)
{
	struct session *s = calloc(1, sizeof(*s));
	int r = s ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	if (r)
		return r;
	/* By itself the allocator would keep all blocks up to the size of any that was freed. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	s->config = *config;
	for (size_t i = 0; !r && config->labels && config->labels[i]; i++)
		r = subject_labels_set(&s->labels, config->labels[i], diag);
	if (!r)
		r = host_check_pids("", diag);
	/* The database first: if it cannot be had, nothing else needs to be tried. */
	if (!r)
		r = db_writer_open(config->db_path, NULL, &io_system, &s->writer, diag);
	if (!r)
		r = open_rooms(s, diag);
	if (!r)
		r = open_collection(s, diag);
	if (!r) {
		learn_skid(s);
		core_measure_learn(NULL, core_meter_cycles, &s->core);
	}
	if (!r)
		open_kernel(s);
	if (!r)
		r = open_resolver(s, diag);
	if (!r)
		r = start_followers(s, diag);
	if (r) {
		session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	tally_free(&s->tally);
	keeper_free(s->keeper);
	resolver_free(s->resolver);
	rate_watch_free(s->watch);
	sampler_free(s->sampler);
	followers_close(&s->followers); /* after the program that calls theirs */
	sideband_free(s->sideband);
	processes_free(s->processes);
	files_free(s->files);
	image_kernel_free(s->kernel);
	image_worker_free(s->worker);
	db_batch_free(s->batch);
	db_writer_free(s->writer);
	subject_labels_free(&s->labels);
	allowance_free(s->helpers);
	free(s);
}

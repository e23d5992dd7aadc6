/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How a session is opened, in the order in which its parts need each other, and closed. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/governor.h"
#include "collect/host.h"
#include "collect/kernel_types.h"
#include "collect/session_state.h"
#include "util/clock.h"
#include "util/log.h"

#define BATCH_ROWS    262144
#define LARGE_BYTES   (1 << 18)
#define SKIDS_A_START 2 /* measured at most: each takes 0.7 s */
/* A file that takes longer to look at is given up: of the processor, and until the answer is there.
 */
#define WORKER_NS      1000000000ull
#define WORKER_WAIT_NS 5000000000ull

/* That it cannot be had is no failure, unless it was asked for. */
static int open_edges(struct session *s, struct diag *diag)
{
	struct edges_config config = {
		.sampler = s->sampler,
		.files = s->files,
		.worker = s->worker,
		.batch = s->batch,
		.make_room = session_make_room,
		.arg = s,
		.budget_percent = s->config.budget_percent * EDGES_BUDGET_SHARE,
		.types = s->types,
	};
	int r;

	if (s->config.edges == SESSION_EDGES_NONE)
		return 0;
	r = edges_new(&config, &s->edges, &s->edges_why);
	if (r && s->config.edges == SESSION_EDGES)
		return diag_fail(diag, -r, "%s", s->edges_why.text);
	return 0;
}

/* The kernel looks at the interpreter while the unwinder is loaded: each takes as long as the
 * other.
 */
struct edges_opening {
	struct session *session;
	struct diag diag;
	int r;
};

static void *open_edges_beside(void *arg)
{
	struct edges_opening *o = arg;

	o->r = open_edges(o->session, &o->diag);
	return NULL;
}

/* That they cannot be had is told, and no failure if nobody insists. */
static int open_stacks(struct session *s, struct diag *diag)
{
	struct stacks_config config = {
		.sampler = s->sampler,
		.files = s->files,
		.worker = s->worker,
		.batch = s->batch,
		.keeper = s->keeper,
		.make_room = session_make_room,
		.follow = session_follow_processes,
		.arg = s,
		.memory_bytes = s->config.stack_memory,
		.allowance = s->helpers,
		.types = s->types,
	};
	int r = s->config.stacks ? stacks_new(&config, &s->stacks, &s->stacks_why) : 0;

	if (r && s->config.stacks_needed)
		return diag_fail(diag, -r, "%s", s->stacks_why.text);
	return 0;
}

static int open_followers(struct session *s, struct diag *diag)
{
	struct edges_opening edges = {.session = s};
	pthread_t thread;
	bool beside = !pthread_create(&thread, NULL, open_edges_beside, &edges);
	int r = open_stacks(s, diag);

	if (beside)
		pthread_join(thread, NULL);
	else
		open_edges_beside(&edges);
	return edges.r ? diag_fail(diag, -edges.r, "%s", edges.diag.text) : r;
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

/* A rate of samples that is asked for is not the budget's, and nor is then one of stacks. */
struct stacks_rate session_stacks_rate(const struct session *s, double hz)
{
	double wanted = s->config.stack_hz;
	struct stacks_rate rate = {.hz = hz, .most_hz = isinf(wanted) ? 0 : wanted ?: STACKS_HZ};

	if (!(wanted > 0))
		rate.budget_percent = s->config.budget_percent * STACKS_BUDGET_SHARE;
	else if (s->config.rate_hz > 0)
		rate.budget_percent = INFINITY;
	else
		rate.budget_percent = fmin(wanted, hz) * STACKS_COUNTED_NS * 100 / 1e9;
	return rate;
}

/* What the rate of samples must leave of the budget. */
static void wish_for_followers(const struct session *s, struct rate_wish *wish)
{
	double stacks = s->stacks && !(s->config.stack_hz > 0) ? STACKS_BUDGET_SHARE : 0;

	wish->budget_percent *=
		1 - BUDGET_REST_SHARE - (s->edges ? EDGES_BUDGET_SHARE : 0) - stacks;
	if (s->stacks && s->config.stack_hz > 0) {
		wish->follow_hz = s->config.stack_hz;
		wish->follow_ns = STACKS_COUNTED_NS;
	}
}

static int open_collection(struct session *s, struct diag *diag)
{
	struct rate_wish wish = {.hz = s->config.rate_hz,
				 .budget_percent = s->config.budget_percent,
				 .scoped = s->config.scoped};
	int r;

	/* Opened at a harmless rate; the real one is known once an interrupt has been measured. */
	for (size_t i = 0; i < s->config.event_count; i++)
		s->periods[i] = governor_period("", &s->config.events[i], 100);
	r = open_programs(s, diag);
	wish_for_followers(s, &wish);
	s->interrupts_percent = wish.budget_percent;
	if (!r)
		r = rate_choose(&wish, s->config.events, s->config.event_count, s->sampler,
				&s->rate, s->periods, diag);
	if (!r)
		r = sideband_new(&s->sideband, diag);
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
	};

	s->resolver = resolver_new(&config);
	return s->resolver ? 0 : diag_fail(diag, ENOMEM, "out of memory");
}

/* Which event's samples are followed: the first clock, else the first. */
static size_t followed_event(const struct session *s)
{
	for (size_t i = 0; i < s->config.event_count; i++)
		if (event_is_clock(&s->config.events[i]))
			return i;
	return 0;
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
	int r = 0;

	if (s->edges)
		r = edges_start(s->edges, s->resolver, (uint32_t)followed_event(s),
				session_followed_hz(s));
	if (!r && s->stacks) {
		struct stacks_rate rate = session_stacks_rate(s, session_followed_hz(s));

		r = stacks_start(s->stacks, s->resolver, &rate);
	}
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
	if (!r)
		learn_skid(s);
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
	keeper_free(s->keeper);
	resolver_free(s->resolver);
	sampler_free(s->sampler);
	edges_free(s->edges); /* after the program that calls the interpreter */
	stacks_free(s->stacks);
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/session.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/wire.h"
#include "collect/edges.h"
#include "collect/files.h"
#include "collect/governor.h"
#include "collect/keeper.h"
#include "collect/period.h"
#include "collect/process.h"
#include "collect/rate.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "collect/sideband.h"
#include "collect/skid.h"
#include "collect/subject.h"
#include "collect/tally.h"
#include "db/writer.h"
#include "image/kernel.h"
#include "util/clock.h"
#include "util/log.h"

#define TICK_NS	      400000000ull /* at most; a fast rate ticks faster */
#define TICK_FIRST_NS 20000000ull  /* the rate is not known yet */
#define TICK_WIDTH    0.4
#define TICKS_A_ROUND 5	   /* each CPU is drained once in so many ticks... */
#define PRESSURE_HIGH 0.25 /* ...and at once when a spill is so full */
/* Were all of a CPU's samples evictions, as many fill half a spill: the longest tick's fit above
 * what pressure lets stand. */
#define SAMPLES_A_TICK	 (WIRE_SPILL / 2)
#define COLLECT_NS	 5000000000ull
#define FILE_IDLE_NS	 600000000000ull
#define LARGE_BYTES	 (1 << 18)
#define BATCH_ROWS	 262144
#define COMPACT_SEGMENTS 16
/* A file that takes longer to look at is given up: of the processor, and until the answer is there.
 */
#define WORKER_NS      1000000000ull
#define WORKER_WAIT_NS 5000000000ull
#define POLL_MAX       1024
#define SKIDS_A_START  2    /* measured at most: each takes 0.7 s */
#define MOVES_MAX      4096 /* more than the notices ring holds */

struct session {
	struct session_config config;
	uint64_t periods[WIRE_EVENTS];
	struct rate rate;
	struct image_worker *worker;
	struct files *files;
	struct processes *processes;
	struct image_kernel *kernel;
	struct sideband *sideband;
	struct sampler *sampler;
	struct db_batch *batch;
	struct db_writer *writer;
	struct resolver *resolver;
	struct keeper *keeper;
	struct edges *edges;   /* NULL: samples are not followed */
	struct diag edges_why; /* ... and why */
	struct stacks *stacks; /* NULL: none are taken */
	struct diag stacks_why;
	struct subject_labels labels;
	struct tally tally;
	struct skid_facts skid[WIRE_EVENTS]; /* empty where it is not known */
	struct move {
		pid_t pid;
		uint64_t time_ns;
	} moves[MOVES_MAX]; /* between cgroups */
	size_t move_count, moves_done;
	struct period tick; /* time between ticks, ns */
	uint64_t next_tick_ns, next_collect_ns, drained_slots;
	uint64_t last_tick_ns;
	uint64_t batch_start_ns, started_ns, flushed;
	bool running;
	struct diag trouble; /* why the last flush that nobody asked for failed */
};

/* A child has the cgroup that its parent had at the fork, so the order counts. */
static void take_moves(struct session *s, uint64_t until_ns)
{
	while (s->moves_done < s->move_count && s->moves[s->moves_done].time_ns <= until_ns) {
		processes_move(s->processes, s->moves[s->moves_done].pid,
			       s->moves[s->moves_done].time_ns);
		s->moves_done++;
	}
}

static void take_record(void *arg, const struct sideband_record *r)
{
	struct session *s = arg;

	take_moves(s, r->time_ns);
	if (r->type == SIDEBAND_KSYMBOL) {
		char name[512];
		size_t size = r->name_size < sizeof(name) ? r->name_size : sizeof(name) - 1;

		memcpy(name, r->name, size);
		name[size] = 0;
		if (s->kernel)
			image_kernel_ksymbol(s->kernel, r->address, r->size, name, r->gone);
		return;
	}
	processes_take(s->processes, r);
}

static void note_move(void *arg, pid_t pid, uint64_t time_ns)
{
	struct session *s = arg;

	if (s->move_count < MOVES_MAX)
		s->moves[s->move_count++] = (struct move){pid, time_ns};
}

/* Everything that processes did up to now, so that the samples up to now can be resolved. */
static void follow_processes(struct session *s)
{
	s->move_count = s->moves_done = 0;
	sampler_cgroup_changes(s->sampler, note_move, s);
	sideband_read(s->sideband, clock_monotonic_ns(), take_record, s);
	take_moves(s, UINT64_MAX);
	if (processes_must_rescan(s->processes))
		processes_scan(s->processes, clock_monotonic_ns(), NULL);
}

static int drain(struct session *s, unsigned first, unsigned count, struct diag *diag)
{
	int r = count ? sampler_flip(s->sampler, first, count, diag) : 0;

	if (r)
		return r;
	/* Also when no CPU has its turn: a new file is best looked at while it is there. */
	follow_processes(s);
	resolver_begin_drain(s->resolver);
	sampler_drain(s->sampler, first, count, resolver_take, s->resolver);
	if (s->edges)
		edges_drain(s->edges, clock_monotonic_ns());
	if (s->stacks)
		stacks_drain(s->stacks, clock_monotonic_ns());
	return 0;
}

static int drain_all(struct session *s, struct diag *diag)
{
	return drain(s, 0, sampler_cpus(s->sampler), diag);
}

/* The next part of the CPUs: all of them in TICKS_A_ROUND ticks, whatever their number. */
static void drain_part(struct session *s)
{
	unsigned cpus = sampler_cpus(s->sampler);
	uint64_t from, to;

	/* Who was moved to another cgroup has entries that were first hit in the former one: what
	 * they count from now on belongs to the new one. */
	if (s->move_count || sampler_pressure(s->sampler) > PRESSURE_HIGH) {
		drain_all(s, NULL);
		return;
	}
	s->drained_slots++;
	from = (s->drained_slots - 1) % TICKS_A_ROUND * cpus / TICKS_A_ROUND;
	to = ((s->drained_slots - 1) % TICKS_A_ROUND + 1) * cpus / TICKS_A_ROUND;
	drain(s, (unsigned)from, (unsigned)(to - from), NULL);
}

static void keep_jit(void *arg, struct process *life)
{
	struct session *s = arg;
	struct image_id id;

	if (!life->jit_sampled)
		return;
	resolver_jit_image(s->resolver, life, &id);
	keeper_want_jit(s->keeper, &id, life);
}

static void collect_garbage(struct session *s, uint64_t now)
{
	processes_collect(s->processes, sampler_oldest_ns(s->sampler), keep_jit, s);
	files_collect(s->files, now > FILE_IDLE_NS ? now - FILE_IDLE_NS : 0);
	s->next_collect_ns = now + COLLECT_NS;
}

/* The time to the next tick, by what the last one brought. */
static uint64_t draw_tick(struct session *s, uint64_t now)
{
	uint64_t samples = sampler_busiest(s->sampler), took = now - s->last_tick_ns;
	double due = samples ? (double)took * SAMPLES_A_TICK / (double)samples : TICK_NS;
	double share = due < TICK_NS ? due / TICK_NS : 1;

	s->last_tick_ns = now;
	return (uint64_t)((double)period_draw(&s->tick) * share);
}

static void tick(struct session *s, uint64_t now)
{
	sampler_redraw(s->sampler, now);
	drain_part(s);
	if (now >= s->next_collect_ns)
		collect_garbage(s, now);
	/* After a long stop (a debugger, a suspended machine) the ticks that were missed stay so.
	 */
	s->next_tick_ns = now + draw_tick(s, now);
}

/* While code is met for the first time, between the ticks too. */
static void work_soon(struct session *s, uint64_t now)
{
	follow_processes(s);
	resolver_begin_drain(s->resolver);
	if (s->edges && now >= edges_next_ns(s->edges))
		edges_drain(s->edges, now);
	if (s->stacks && now >= stacks_next_ns(s->stacks))
		stacks_drain(s->stacks, now);
}

/* Stacks whose tables are lacking: their files, too, are best looked at while they are there. */
static void take_waiting_stacks(struct session *s)
{
	resolver_begin_drain(s->resolver);
	stacks_take_waiting(s->stacks);
}

static uint64_t next_work_ns(const struct session *s)
{
	uint64_t edges = s->edges ? edges_next_ns(s->edges) : UINT64_MAX;
	uint64_t stacks = s->stacks ? stacks_next_ns(s->stacks) : UINT64_MAX;
	uint64_t soon = edges < stacks ? edges : stacks;

	return soon < s->next_tick_ns ? soon : s->next_tick_ns;
}

static uint64_t next_wake_ns(const struct session *s, uint64_t now)
{
	uint64_t work = next_work_ns(s);
	uint64_t again = s->stacks ? stacks_poll_again_ns(s->stacks, now) : UINT64_MAX;

	return work < again ? work : again;
}

static int ms_until(uint64_t then, uint64_t now)
{
	return then <= now ? 0 : (int)((then - now + 999999) / 1000000);
}

int session_wait(struct session *s, struct pollfd *fds, size_t count, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX
				      : clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
	struct pollfd all[POLL_MAX];
	size_t room = POLL_MAX - count - 1;
	size_t own = sideband_poll_fds(s->sideband, all, room), stacks;

	own = own < room ? own : room;
	stacks = own++;
	memcpy(all + own, fds, count * sizeof(*fds));
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		uint64_t next = next_wake_ns(s, now), until = next < end ? next : end;
		int ready, theirs = 0;

		all[stacks] = (struct pollfd){.fd = s->stacks ? stacks_poll_fd(s->stacks, now) : -1,
					      .events = POLLIN};
		ready = poll(all, own + count, ms_until(until, now));
		if (ready < 0)
			return -errno;
		for (size_t i = 0; i < count; i++) {
			fds[i].revents = all[own + i].revents;
			theirs += fds[i].revents != 0;
		}
		if (ready > theirs)
			follow_processes(s);
		if (all[stacks].revents)
			take_waiting_stacks(s);
		now = clock_monotonic_ns();
		if (now >= s->next_tick_ns)
			tick(s, now);
		else if (now >= next_work_ns(s))
			work_soon(s, now);
		if (theirs || now >= end)
			return theirs;
	}
}

/* Writes the batch and begins the next one. On failure the batch stays as it is. */
static int write_batch(struct session *s, struct diag *diag)
{
	uint64_t now = clock_wall_ns();
	int r;

	tally_flush(&s->tally, s->batch, s->sampler, s->resolver, s->sideband, s->processes);
	if (s->edges)
		edges_flush(s->edges);
	if (s->stacks)
		stacks_flush(s->stacks);
	db_batch_interval(s->batch, s->batch_start_ns, now);
	r = db_writer_flush(s->writer, s->batch, diag);
	if (r)
		return r;
	s->flushed++;
	db_batch_clear(s->batch);
	/* What grew since the last flush is free now, but in pieces that the allocator would keep.
	 */
	malloc_trim(0);
	s->batch_start_ns = now;
	r = resolver_begin_batch(s->resolver);
	if (!r && s->edges)
		r = edges_begin_batch(s->edges);
	if (s->stacks)
		stacks_begin_batch(s->stacks);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

/* The batch is full. */
static int make_room(void *arg)
{
	struct session *s = arg;
	int r = write_batch(s, &s->trouble);

	if (r)
		log_error("%s", s->trouble.text);
	return r;
}

int session_flush(struct session *s, struct diag *diag)
{
	int r;

	if (s->running) {
		r = drain_all(s, diag);
		if (r)
			return r;
	}
	processes_each(s->processes, keep_jit, s);
	return write_batch(s, diag);
}

int session_begin_epoch(struct session *s, struct diag *diag)
{
	int r = session_flush(s, diag);

	return r ?: db_writer_begin_epoch(s->writer, clock_wall_ns(), diag);
}

int session_tidy(struct session *s, uint64_t max_age_ns, uint64_t max_bytes, struct diag *diag)
{
	unsigned removed;
	int r = 0;

	if (db_writer_segments(s->writer) >= COMPACT_SEGMENTS)
		r = db_writer_compact(s->writer, NULL, diag);
	if (!r && (max_age_ns || max_bytes))
		r = db_writer_retain(s->writer, clock_wall_ns(), max_age_ns, max_bytes, &removed,
				     diag);
	return r;
}

int session_finish(struct session *s, struct diag *diag)
{
	int r;

	sampler_stop(s->sampler);
	r = session_flush(s, diag);
	s->running = false;
	keeper_finish(s->keeper);
	if (r)
		return r;
	r = db_writer_compact(s->writer, NULL, diag);
	if (!r) {
		struct db_writer *w = s->writer;

		s->writer = NULL;
		r = db_writer_close(w, diag);
	}
	return r;
}

static void forget_subject(void *arg, struct process *life)
{
	(void)arg;
	free(life->subject);
	life->subject = NULL;
	life->subject_number = 0;
	memset(life->memo, 0, sizeof(life->memo));
}

int session_label(struct session *s, const char *text, struct diag *diag)
{
	/* What was sampled before still goes under the old labels. */
	int r = s->running ? drain_all(s, diag) : 0;

	if (!r)
		r = subject_labels_set(&s->labels, text, diag);
	if (!r)
		processes_each(s->processes, forget_subject, NULL);
	return r;
}

int session_fact(struct session *s, const char *name, const char *value)
{
	return db_batch_fact(s->batch, name, value);
}

/* That it cannot be had is no failure, unless it was asked for. */
static int open_edges(struct session *s, struct diag *diag)
{
	struct edges_config config = {
		.sampler = s->sampler,
		.files = s->files,
		.worker = s->worker,
		.batch = s->batch,
		.make_room = make_room,
		.arg = s,
		.budget_percent = s->config.budget_percent * EDGES_BUDGET_SHARE,
	};
	int r;

	if (s->config.edges == SESSION_EDGES_NONE)
		return 0;
	r = edges_new(&config, &s->edges, &s->edges_why);
	if (r && s->config.edges == SESSION_EDGES)
		return diag_fail(diag, -r, "%s", s->edges_why.text);
	return 0;
}

/* That they cannot be had is told, and no failure if nobody insists. */
static int open_stacks(struct session *s, struct diag *diag)
{
	struct stacks_config config = {
		.sampler = s->sampler,
		.worker = s->worker,
		.batch = s->batch,
		.keeper = s->keeper,
		.make_room = make_room,
		.arg = s,
		.memory_bytes = s->config.stack_memory,
		.budget_percent = s->config.budget_percent * STACKS_BUDGET_SHARE,
	};
	int r = s->config.stacks ? stacks_new(&config, &s->stacks, &s->stacks_why) : 0;

	if (r && s->config.stacks_needed)
		return diag_fail(diag, -r, "%s", s->stacks_why.text);
	return 0;
}

static int open_collection(struct session *s, struct diag *diag)
{
	struct sampler_config config = {
		.events = s->config.events,
		.periods = s->periods,
		.event_count = s->config.event_count,
		.scoped = s->config.scoped,
		.randomize = !s->config.fixed_periods,
		.seed = clock_wall_ns(),
	};
	struct rate_wish wish = {.hz = s->config.rate_hz,
				 .budget_percent = s->config.budget_percent};
	int r;

	/* Opened at a harmless rate; the real one is known once an interrupt has been measured. */
	for (size_t i = 0; i < s->config.event_count; i++)
		s->periods[i] = governor_period("", &s->config.events[i], 100);
	r = sampler_new(&config, &s->sampler, diag);
	if (!r)
		r = open_edges(s, diag);
	if (!r)
		r = open_stacks(s, diag);
	wish.budget_percent *=
		1 - (s->edges ? EDGES_BUDGET_SHARE : 0) - (s->stacks ? STACKS_BUDGET_SHARE : 0);
	if (!r)
		r = rate_choose(&wish, s->config.events, s->config.event_count, s->sampler,
				&s->rate, s->periods, diag);
	if (!r)
		r = sideband_new(&s->sideband, diag);
	if (!r)
		sampler_set_periods(s->sampler, s->periods);
	return r;
}

static int open_rooms(struct session *s, struct diag *diag)
{
	struct image_worker_limits patience = {
		.memory_bytes = 256u << 20, .time_ns = WORKER_NS, .wait_ns = WORKER_WAIT_NS};

	s->worker = image_worker_new(&patience);
	s->files = s->worker ? files_new(s->worker) : NULL;
	s->processes = s->files ? processes_new(s->files) : NULL;
	s->batch = db_batch_new(BATCH_ROWS);
	s->keeper = keeper_new(s->config.db_path, db_writer_machine(s->writer));
	if (!s->processes || !s->batch || !s->keeper)
		return diag_fail(diag, ENOMEM, "out of memory");
	return 0;
}

/* After our own programs were loaded: one scan finds them too. Without the right to see kernel
 * addresses, kernel samples stay unknown, and are counted so. */
static void open_kernel(struct session *s)
{
	struct diag why;

	if (image_kernel_new("", &s->kernel, &why))
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
		.randomized = !s->config.fixed_periods,
		.make_room = make_room,
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

static double followed_hz(const struct session *s)
{
	size_t event = followed_event(s);

	if (event_is_clock(&s->config.events[event]))
		return 1e9 / (double)s->periods[event];
	return s->rate.hz > 0 ? s->rate.hz : GOVERNOR_MAX_HZ;
}

static int start_followers(struct session *s, struct diag *diag)
{
	if (s->edges)
		edges_start(s->edges, s->resolver, (uint32_t)followed_event(s), followed_hz(s));
	if (s->stacks && stacks_start(s->stacks, s->resolver, followed_hz(s)))
		return diag_fail(diag, ENOMEM, "out of memory");
	return 0;
}

/* Where the events' samples land: known from an earlier run, or measured now. Reports do without
 * when it cannot be. */
static void learn_skid(struct session *s)
{
	unsigned measured = 0;

	for (size_t i = 0; i < s->config.event_count && i < WIRE_EVENTS; i++) {
		const struct event *e = &s->config.events[i];
		struct skid_facts *f = &s->skid[i];
		struct diag why;

		if (!skid_is_measurable(e) || !skid_recall(e, f) || measured++ == SKIDS_A_START)
			continue;
		if (skid_measure(e, f, &why))
			log_debug("where samples land was not measured: %s", why.text);
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
	free(s);
}

int session_follow(struct session *s, pid_t pid, struct diag *diag)
{
	return sampler_scope_add(s->sampler, pid, diag);
}

int session_start(struct session *s, struct diag *diag)
{
	int r = db_writer_begin_epoch(s->writer, clock_wall_ns(), diag);

	/* Records first, then the scan, then samples: so no mapping is missed. */
	if (!r)
		r = sideband_start(s->sideband, diag);
	if (!r)
		r = processes_scan(s->processes, 0, diag);
	if (!r)
		r = sampler_start(s->sampler, diag);
	if (r)
		return r;
	s->running = true;
	period_init(&s->tick, TICK_NS, 0, TICK_WIDTH, clock_wall_ns(), 0);
	s->batch_start_ns = s->started_ns = clock_wall_ns();
	s->last_tick_ns = clock_monotonic_ns();
	s->next_tick_ns = s->last_tick_ns + TICK_FIRST_NS;
	s->next_collect_ns = s->last_tick_ns + COLLECT_NS;
	tally_start(&s->tally, &s->config, &s->rate, s->skid);
	return 0;
}

void session_read_status(const struct session *s, struct session_status *ret)
{
	struct sampler_counters c;
	struct processes_counters p;
	struct files_counters f;

	sampler_read_counters(s->sampler, &c);
	processes_read_counters(s->processes, &p);
	files_read_counters(s->files, &f);
	*ret = (struct session_status){
		.rate_hz = s->rate.hz,
		.cost_ns = s->rate.cost_ns,
		.cost_spread_ns = s->rate.cost_spread_ns,
		.cost_note = s->rate.note,
		.budget_percent = s->config.budget_percent,
		.started_ns = s->started_ns,
		.samples = c.samples,
		.outside = c.outside,
		.lost = c.lost_spill,
		.rows = db_batch_rows(s->batch),
		.flushed = s->flushed,
		.hits = c.hits,
		.evictions = c.evictions,
		.processes = p.processes,
		.files = f.files,
		.mappings_refused = p.mappings_refused,
		.files_unreadable = f.unreadable,
		.records_lost = p.records_lost,
		.cpus = sampler_cpus(s->sampler),
		.epoch = s->writer ? db_writer_epoch(s->writer) : NULL,
		.edges_why = s->edges ? "" : s->edges_why.text,
		.stacks_why = s->stacks ? "" : s->stacks_why.text,
	};
	if (s->edges)
		edges_read_status(s->edges, &ret->edges);
	if (s->stacks)
		stacks_read_status(s->stacks, &ret->stacks);
	for (size_t i = 0; i < s->config.event_count; i++) {
		const struct resolver_event_counters *e = resolver_counters(s->resolver, i);

		ret->unknown += e->unknown_process + e->unknown_mapping + e->unknown_kernel;
		ret->lost += e->lost_memory + e->lost_storage;
	}
}

uint64_t session_period(const struct session *s, size_t event)
{
	return s->periods[event];
}

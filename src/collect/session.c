/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/session_state.h"
#include "collect/wanted.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

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
#define COMPACT_SEGMENTS 16
#define POLL_MAX	 1024
#define FILES_WAIT_NS	 2000000000ull

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

	s->records++;
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
	s->moved = true;
}

/* Everything that processes did up to now, so that the samples up to now can be resolved. */
void session_follow_processes(void *arg)
{
	struct session *s = arg;

	s->move_count = s->moves_done = 0;
	sampler_cgroup_changes(s->sampler, note_move, s);
	sideband_read(s->sideband, clock_monotonic_ns(), take_record, s);
	take_moves(s, UINT64_MAX);
	if (processes_must_rescan(s->processes))
		processes_scan(s->processes, clock_monotonic_ns(), NULL);
	processes_scan_due(s->processes, clock_monotonic_ns());
}

static int drain(struct session *s, unsigned first, unsigned count, struct diag *diag)
{
	int r = count ? sampler_flip(s->sampler, first, count, diag) : 0;

	if (r)
		return r;
	/* Also when no CPU has its turn: a new file is best looked at while it is there. */
	session_follow_processes(s);
	resolver_begin_drain(s->resolver);
	files_take_answers(s->files);
	resolver_retry(s->resolver, false);
	sampler_drain(s->sampler, first, count, resolver_take, s->resolver);
	if (s->edges)
		edges_drain(s->edges, clock_monotonic_ns());
	if (s->stacks)
		stacks_drain(s->stacks, clock_monotonic_ns());
	return 0;
}

int session_drain_all(struct session *s, struct diag *diag)
{
	s->moved = false; /* what moves while this goes on sets it again */
	return drain(s, 0, sampler_cpus(s->sampler), diag);
}

/* The next part of the CPUs: all of them in TICKS_A_ROUND ticks, whatever their number. */
static void drain_part(struct session *s)
{
	unsigned cpus = sampler_cpus(s->sampler);
	uint64_t from, to;

	/* Who was moved to another cgroup has entries that were first hit in the former one: what
	 * they count from now on belongs to the new one. */
	if (s->moved || sampler_pressure(s->sampler) > PRESSURE_HIGH) {
		session_drain_all(s, NULL);
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

/* The rights to open their events may be given up by now. */
static void watch_cpus(struct session *s, uint64_t now)
{
	unsigned missed = sampler_watch_cpus(s->sampler, now);

	if (missed > s->cpus_missed)
		log_warning("%u of the CPUs came online after the events were opened and are not "
			    "sampled until this is started again",
			    missed);
	s->cpus_missed = missed;
}

static void collect_garbage(struct session *s, uint64_t now)
{
	uint64_t samples = sampler_oldest_ns(s->sampler);
	uint64_t stacks = s->stacks ? stacks_oldest_ns(s->stacks) : UINT64_MAX;
	uint64_t waiting = resolver_oldest_ns(s->resolver);

	samples = samples < waiting ? samples : waiting;
	processes_collect(s->processes, samples < stacks ? samples : stacks, keep_jit, s);
	files_collect(s->files, now > FILE_IDLE_NS ? now - FILE_IDLE_NS : 0);
	watch_cpus(s, now);
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
	session_keep_budget(s, now);
	/* After a long stop (a debugger, a suspended machine) the ticks that were missed stay so.
	 */
	s->next_tick_ns = now + draw_tick(s, now);
}

/* While code is met for the first time, between the ticks too. */
static void work_soon(struct session *s, uint64_t now)
{
	session_follow_processes(s);
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

static void take_tables(struct session *s)
{
	resolver_begin_drain(s->resolver);
	files_take_answers(s->files);
	stacks_take_tables(s->stacks);
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

int session_wait(struct session *s, struct pollfd *fds, size_t count, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX
				      : clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
	struct pollfd all[POLL_MAX];
	size_t own = 0, stacks, tables, files;

	all[own++] = (struct pollfd){.fd = sideband_fd(s->sideband), .events = POLLIN};
	stacks = own++;
	tables = own++;
	files = own++;
	all[tables] = (struct pollfd){.fd = s->stacks ? stacks_tables_fd(s->stacks) : -1,
				      .events = POLLIN};
	/* Samples wait until the next tick for what their files are. */
	all[files] = (struct pollfd){.fd = s->stacks ? files_fd(s->files) : -1, .events = POLLIN};
	memcpy(all + own, fds, count * sizeof(*fds));
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		uint64_t next = next_wake_ns(s, now), until = next < end ? next : end;
		int ready, theirs = 0;

		all[stacks] = (struct pollfd){.fd = s->stacks ? stacks_poll_fd(s->stacks, now) : -1,
					      .events = POLLIN};
		ready = poll(all, own + count, clock_ms_until(until, now, INT_MAX));
		if (ready < 0)
			return -errno;
		for (size_t i = 0; i < count; i++) {
			fds[i].revents = all[own + i].revents;
			theirs += fds[i].revents != 0;
		}
		if (ready > theirs)
			session_follow_processes(s);
		if (all[tables].revents || all[files].revents)
			take_tables(s);
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

/* The samples are what counts: without these a report has names only while the files are there. */
static bool tell_unwritten_symbols(struct session *s)
{
	struct keeper_counters k;
	struct diag why;
	uint64_t count;

	keeper_read_counters(s->keeper, &k);
	count = k.unwritten - s->unwritten_told;
	s->unwritten_told = k.unwritten;
	if (!count)
		return false;
	keeper_read_trouble(s->keeper, &why);
	log_warning("symbols, code or lines of %llu images are not kept, so reports have them "
		    "only while their files are there: %s",
		    (unsigned long long)count, why.text);
	return true;
}

/* Writes the batch and begins the next one. On failure the batch stays as it is. */
int session_write_batch(struct session *s, struct diag *diag)
{
	uint64_t now = clock_wall_ns();
	int r;

	const struct tally_sources sources = {.sampler = s->sampler,
					      .resolver = s->resolver,
					      .sideband = s->sideband,
					      .processes = s->processes,
					      .files = s->files,
					      .keeper = s->keeper,
					      .kernel = s->kernel,
					      .left_out = s->left_out};
	tally_flush(&s->tally, s->batch, &sources);
	if (s->edges)
		edges_flush(s->edges);
	if (s->stacks)
		stacks_flush(s->stacks);
	db_batch_interval(s->batch, s->batch_start_ns, now);
	r = db_writer_flush(s->writer, s->batch, diag);
	if (r)
		return r;
	s->flushed++;
	tell_unwritten_symbols(s);
	wanted_functions(s->keeper, s->batch, s->ending);
	keeper_ask_again(s->keeper);
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

int session_make_room(void *arg)
{
	struct session *s = arg;
	int r = session_write_batch(s, &s->trouble);

	if (r)
		log_error("%s", s->trouble.text);
	return r;
}

/* For samples whose files are being looked at; but not for ever. */
static void wait_for_files(struct session *s)
{
	uint64_t until_ns = clock_monotonic_ns() + FILES_WAIT_NS;

	do {
		resolver_begin_drain(s->resolver);
		files_take_answers(s->files);
		resolver_retry(s->resolver, false);
	} while (resolver_waiting(s->resolver) && files_wait(s->files, until_ns));
	resolver_retry(s->resolver, true);
}

int session_flush(struct session *s, struct diag *diag)
{
	int drained = s->running ? session_drain_all(s, diag) : 0, r;

	wait_for_files(s);
	processes_each(s->processes, keep_jit, s);
	/* Also when no more can be had now: of what there is nothing is to be lost. */
	r = session_write_batch(s, drained ? NULL : diag);
	return drained ?: r;
}

int session_begin_epoch(struct session *s, struct diag *diag)
{
	int r = session_flush(s, diag);

	return r ?: db_writer_begin_epoch(s->writer, clock_wall_ns(), diag);
}

/* Between two times that all images are asked for anew: top removes an epoch every few seconds. */
#define FORGET_NS 600000000000ull

int session_tidy(struct session *s, uint64_t max_age_ns, uint64_t max_bytes, struct diag *diag)
{
	unsigned removed = 0;
	int r = 0;

	if (db_writer_segments(s->writer) >= COMPACT_SEGMENTS)
		r = db_writer_compact(s->writer, NULL, diag);
	if (!r && (max_age_ns || max_bytes))
		r = db_writer_retain(s->writer, max_age_ns, max_bytes, &removed, diag);
	s->forget_due |= removed != 0;
	if (s->forget_due && clock_monotonic_ns() >= s->forget_next_ns) {
		keeper_forget(s->keeper);
		s->forget_due = false;
		s->forget_next_ns = clock_monotonic_ns() + FORGET_NS;
	}
	return r;
}

static uint64_t kept_refused(const struct session *s)
{
	struct keeper_counters k;

	keeper_read_counters(s->keeper, &k);
	return k.refused + k.code_refused + k.lines_refused;
}

int session_finish(struct session *s, struct diag *diag)
{
	struct db_writer *w;
	struct diag why;
	uint64_t refused;
	int drained, r;

	sampler_stop(s->sampler);
	s->ending = true;
	allowance_lift(s->helpers);
	drained = s->running ? session_drain_all(s, diag) : 0;
	if (!drained && s->running && s->stacks)
		stacks_finish(s->stacks);
	s->running = false;
	if (drained)
		diag = NULL; /* has its sentence; what was drained before is stored all the same */
	r = session_flush(s, diag);
	refused = kept_refused(s);
	keeper_finish(s->keeper);
	/* What is known only now belongs into the epoch too, if there is room for that. */
	if ((tell_unwritten_symbols(s) || kept_refused(s) != refused) && !r)
		session_write_batch(s, NULL);
	if (r)
		return drained ?: r;
	/* What is in several files is as safe as in one. */
	if (db_writer_compact(s->writer, NULL, &why))
		log_warning("%s; the epoch stays in several files (culprit db compact)", why.text);
	w = s->writer;
	s->writer = NULL;
	r = db_writer_close(w, diag);
	return drained ?: r;
}

uint64_t session_unwritten(const struct session *s)
{
	return db_batch_samples(s->batch);
}

int session_write_to(struct session *s, const char *db_path, struct diag *diag)
{
	struct db_writer *w;
	int r = db_writer_open(db_path, NULL, &io_system, &w, diag);

	if (r)
		return r;
	r = db_writer_begin_epoch(w, s->batch_start_ns, diag);
	if (!r)
		r = db_writer_flush(w, s->batch, diag);
	if (!r)
		return db_writer_close(w, diag);
	db_writer_abandon(w);
	return r;
}

static void forget_subject(void *arg, struct process *life)
{
	(void)arg;
	subject_forget(life);
}

int session_label(struct session *s, const char *text, struct diag *diag)
{
	/* What was sampled before still goes under the old labels. */
	int r = s->running ? session_drain_all(s, diag) : 0;

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

int session_follow(struct session *s, pid_t pid, struct diag *diag)
{
	if (s->root_count < DESCENDANTS_ROOTS_MAX)
		s->roots[s->root_count++] = pid;
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
	if (!r && s->root_count)
		r = session_take_descendants(s, diag);
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
	session_start_budget(s);
	return 0;
}

void session_read_status(const struct session *s, struct session_status *ret)
{
	struct sampler_counters c;
	struct processes_counters p;
	struct files_counters f;
	struct keeper_counters k;
	struct budget_look look;

	sampler_read_counters(s->sampler, &c);
	processes_read_counters(s->processes, &p);
	files_read_counters(s->files, &f);
	keeper_read_counters(s->keeper, &k);
	*ret = (struct session_status){
		.rate_hz = s->rate.hz,
		.cost_ns = s->rate.cost_ns,
		.cost_spread_ns = s->rate.cost_spread_ns,
		.cost_remembered = s->rate.remembered,
		.cost_age_s = s->rate.cost_age_s,
		.cost_note = s->rate.note,
		.budget_percent = s->config.budget_percent,
		.interrupts_percent = s->interrupts_percent,
		.started_ns = s->started_ns,
		.samples = c.samples,
		.outside = c.outside,
		.lost = c.lost_spill,
		.rows = db_batch_rows(s->batch),
		.flushed = s->flushed,
		.left_out = s->left_out,
		.joined = s->joined,
		.hits = c.hits,
		.evictions = c.evictions,
		.processes = p.processes,
		.files = f.files,
		.processes_refused = p.processes_refused,
		.files_refused = f.refused,
		.mappings_refused = p.mappings_refused,
		.files_unreadable = f.unreadable,
		.files_queued = f.queued,
		.files_crowded = f.crowded,
		.symbols_kept = k.kept,
		.symbols_failed = k.failed,
		.symbols_unwritten = k.unwritten,
		.symbols_refused = k.refused,
		.code_refused = k.code_refused,
		.lines_refused = k.lines_refused,
		.records_lost = p.records_lost,
		.records_left_out = p.records_left_out,
		.cpus = sampler_cpus(s->sampler),
		.cpus_missed = s->cpus_missed,
		.epoch = s->writer ? db_writer_epoch(s->writer) : NULL,
		.edges_why = s->edges ? "" : s->edges_why.text,
		.stacks_why = s->stacks ? "" : s->stacks_why.text,
	};
	session_look(s, &look);
	ret->budget = budget_since_start(&s->budget, &look);
	ret->budget_window = s->budget.windows ? s->budget.window : ret->budget;
	ret->budget_step = s->budget.step;
	ret->budget_windows = s->budget.windows;
	ret->budget_over = s->budget.over;
	allowance_read(s->helpers, &ret->helpers);
	if (s->kernel)
		ret->kernel = image_kernel_counts(s->kernel);
	if (s->edges)
		edges_read_status(s->edges, &ret->edges);
	if (s->stacks)
		stacks_read_status(s->stacks, &ret->stacks);
	for (size_t i = 0; i < s->config.event_count; i++) {
		const struct resolver_event_counters *e = resolver_counters(s->resolver, i);

		ret->unknown += e->unknown_process + e->unknown_mapping + e->unknown_kernel;
		ret->lost += e->lost_memory + e->lost_storage;
		ret->by_name += e->by_name;
	}
}

uint64_t session_period(const struct session *s, size_t event)
{
	return s->periods[event];
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/session_state.h"
#include "collect/keep/wanted.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "collect/host/host.h"
#include "db/paths.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#define ROUND_NS       400000000ull /* at most; shorter at a fast rate */
#define ROUND_FIRST_NS 20000000ull  /* the rate is not known yet */
#define ROUND_WIDTH    0.4
#define ROUNDS_A_DRAIN 5    /* each CPU is drained once in so many rounds... */
#define PRESSURE_HIGH  0.25 /* ...and at once when a spill is so full */
/* Were all of a CPU's samples evictions, as many fill half a spill: the longest round's fit above
 * what pressure lets stand. */
#define SAMPLES_A_ROUND	 (WIRE_SPILL / 2)
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

static void take_kernel_record(void *arg, const struct sideband_record *r)
{
	struct session *s = arg;
	char name[512];
	size_t size = r->name_size < sizeof(name) ? r->name_size : sizeof(name) - 1;

	if (r->type != SIDEBAND_KSYMBOL || !s->kernel)
		return;
	memcpy(name, r->name, size);
	name[size] = 0;
	image_kernel_ksymbol(s->kernel, r->address, r->size, name, r->gone);
}

static void take_record(void *arg, const struct sideband_record *r)
{
	struct session *s = arg;

	s->records++;
	take_moves(s, r->time_ns);
	if (r->type == SIDEBAND_KSYMBOL)
		take_kernel_record(s, r);
	else
		processes_take(s->processes, r);
}

static void note_move(void *arg, pid_t pid, uint64_t time_ns)
{
	struct session *s = arg;

	if (s->move_count < MOVES_MAX)
		s->moves[s->move_count++] = (struct move){pid, time_ns};
	s->moved = true;
}

/* What the kernel's records say that processes did up to now. */
static void read_records(void *arg)
{
	struct session *s = arg;

	s->move_count = s->moves_done = 0;
	sampler_cgroup_changes(s->sampler, note_move, s);
	sideband_read(s->sideband, clock_monotonic_ns(), take_record, s);
	take_moves(s, UINT64_MAX);
}

/* Everything that processes did up to now, so that the samples up to now can be resolved. */
void session_follow_processes(void *arg)
{
	struct session *s = arg;

	read_records(s);
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
	followers_drain(&s->followers, clock_monotonic_ns());
	return 0;
}

int session_drain_all(struct session *s, struct diag *diag)
{
	s->moved = false; /* what moves while this goes on sets it again */
	return drain(s, 0, sampler_cpus(s->sampler), diag);
}

/* The next part of the CPUs: all of them in ROUNDS_A_DRAIN rounds, whatever their number. */
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
	from = (s->drained_slots - 1) % ROUNDS_A_DRAIN * cpus / ROUNDS_A_DRAIN;
	to = ((s->drained_slots - 1) % ROUNDS_A_DRAIN + 1) * cpus / ROUNDS_A_DRAIN;
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
		log_warning("%llu %s online after the events were opened and %s not sampled until "
			    "this is started again",
			    TEXT_COUNT(missed, "CPU came", "CPUs came"),
			    text_plural(missed, "is", "are"));
	s->cpus_missed = missed;
}

static void collect_garbage(struct session *s, uint64_t now)
{
	uint64_t samples = sampler_oldest_ns(s->sampler);
	uint64_t followed = followers_oldest_ns(&s->followers);
	uint64_t waiting = resolver_oldest_ns(s->resolver);

	samples = samples < waiting ? samples : waiting;
	processes_collect(s->processes, samples < followed ? samples : followed,
			  clock_monotonic_ns(), keep_jit, s);
	files_collect(s->files, now > FILE_IDLE_NS ? now - FILE_IDLE_NS : 0);
	watch_cpus(s, now);
	s->next_collect_ns = now + COLLECT_NS;
}

/* The time to the next round, by what the last one brought. */
static uint64_t draw_round(struct session *s, uint64_t now)
{
	uint64_t samples = sampler_busiest(s->sampler), took = now - s->last_round_ns;
	double due = samples ? (double)took * SAMPLES_A_ROUND / (double)samples : ROUND_NS;
	double share = due < ROUND_NS ? due / ROUND_NS : 1;

	s->last_round_ns = now;
	return (uint64_t)((double)period_draw(&s->round) * share);
}

static void do_round(struct session *s, uint64_t now)
{
	sampler_redraw(s->sampler, now);
	clock_meter_look(&s->clock, now);
	drain_part(s);
	if (now >= s->next_collect_ns)
		collect_garbage(s, now);
	session_keep_budget(s, now);
	/* After a long stop (a debugger, a suspended machine) rounds that were missed stay so. */
	s->next_round_ns = now + draw_round(s, now);
}

/* While code is met for the first time, between the rounds too. */
static void work_soon(struct session *s, uint64_t now)
{
	session_follow_processes(s);
	resolver_begin_drain(s->resolver);
	followers_drain_due(&s->followers, now);
}

static uint64_t next_work_ns(const struct session *s)
{
	uint64_t soon = followers_next_ns(&s->followers);

	return soon < s->next_round_ns ? soon : s->next_round_ns;
}

int session_wait(struct session *s, struct pollfd *fds, size_t count, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX
				      : clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
	struct pollfd all[POLL_MAX], *followed = all + 1;
	const size_t own = 1 + FOLLOWERS_FDS;

	/* Samples wait until the next round for what their files are. */
	all[0] = (struct pollfd){.fd = sideband_fd(s->sideband), .events = POLLIN};
	for (size_t i = 0; i < count; i++)
		all[own + i] = fds[i];
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		uint64_t again = followers_poll(&s->followers, now, followed);
		uint64_t work = next_work_ns(s), until = work < end ? work : end;
		int ready, theirs = 0;

		until = again < until ? again : until;
		ready = poll(all, own + count, clock_ms_until(until, now, INT_MAX));
		if (ready < 0)
			return -errno;
		for (size_t i = 0; i < count; i++) {
			fds[i].revents = all[own + i].revents;
			theirs += fds[i].revents != 0;
		}
		if (ready > theirs) {
			session_follow_processes(s);
			/* Files of what waits, too, are best looked at while they are there. */
			resolver_begin_drain(s->resolver);
			followers_wake(&s->followers, followed);
		}
		now = clock_monotonic_ns();
		if (now >= s->next_round_ns)
			do_round(s, now);
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
	log_warning("symbols, code or lines of %llu %s are not kept, so reports have them "
		    "only while %s there: %s",
		    TEXT_COUNT(count, "image", "images"),
		    text_plural(count, "its file is", "their files are"), why.text);
	return true;
}

/* Writes the batch and begins the next one. On failure the batch stays as it is. */
int session_write_batch(struct session *s, struct diag *diag)
{
	uint64_t now = clock_wall_ns();

	tally_flush(&s->tally, s->batch, s->sampler, s->resolver);
	session_each_counter(s, &(struct counter_taker){tally_take, &s->tally});
	followers_flush(&s->followers);
	db_batch_interval(s->batch, s->batch_start_ns, now);
	int r = db_writer_flush(s->writer, s->batch, diag);
	if (r)
		return r;
	s->flushed++;
	tell_unwritten_symbols(s);
	wanted_functions(s->keeper, s->batch, s->ending);
	keeper_ask_again(s->keeper);
	db_batch_clear(s->batch);
	/* What grew since the last flush is free now, in pieces that the allocator would keep. */
	malloc_trim(0);
	s->batch_start_ns = now;
	r = resolver_begin_batch(s->resolver);
	r = followers_begin_batch(&s->followers) ?: r;
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

	clock_meter_begin(&s->clock, clock_monotonic_ns(), host_interrupts(""));
	return r ?: db_writer_begin_epoch(s->writer, clock_wall_ns(), diag);
}

int session_tidy(struct session *s, uint64_t max_age_ns, uint64_t max_bytes, struct diag *diag)
{
	unsigned removed = 0;
	int r = 0;

	if (db_writer_segments(s->writer) >= COMPACT_SEGMENTS)
		r = db_writer_compact(s->writer, NULL, diag);
	if (!r && (max_age_ns || max_bytes))
		r = db_writer_retain(s->writer, max_age_ns, max_bytes, &removed, diag);
	keeper_forget(s->keeper, removed != 0, clock_monotonic_ns());
	return r;
}

static uint64_t kept_refused(const struct session *s)
{
	struct keeper_counters k;

	keeper_read_counters(s->keeper, &k);
	return k.refused + k.found.symbols_refused + k.found.names_refused + k.found.code_refused +
	       k.found.lines_refused;
}

int session_finish(struct session *s, struct diag *diag)
{
	struct db_writer *w;
	struct diag why;
	uint64_t refused;
	int drained, r;

	if (!s->started_ns)
		return 0; /* it could not be started: nothing was sampled */
	sampler_stop(s->sampler);
	s->ending = true;
	allowance_lift(s->helpers);
	drained = s->running ? session_drain_all(s, diag) : 0;
	if (!drained && s->running)
		followers_finish(&s->followers);
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

static int add_count(struct session *s, const struct db_execution *c)
{
	static const struct db_event event = {DB_COUNTS_EVENT, 1, DB_EVENT_USER};
	struct db_edge e = {.evidence = DB_EVIDENCE_COUNTS, .from = c->from, .to = c->to};
	int r = db_batch_event(s->batch, &event, &e.event);

	r = r ?: db_batch_image(s->batch, c->image, c->path, strlen(c->path), &e.image);
	e.to_image = e.image;
	return r ?: db_batch_edge(s->batch, &e, c->count, c->windows);
}

int session_add_count(struct session *s, const struct db_execution *c)
{
	int r = add_count(s, c);

	return r == -ENOSPC && !session_make_room(s) ? add_count(s, c) : r;
}

static int add_path(struct session *s, const struct image_id *image, const char *name,
		    struct db_path p, uint64_t count)
{
	static const struct db_event event = {DB_PATHS_EVENT, 1, DB_EVENT_USER};
	int r = db_batch_event(s->batch, &event, &p.event);

	r = r ?: db_batch_image(s->batch, image, name, strlen(name), &p.image);
	return r ?: db_batch_path(s->batch, &p, &(struct db_path_sums){.count = count});
}

int session_add_path(struct session *s, const struct image_id *image, const char *path,
		     const struct db_path *p, uint64_t count)
{
	int r = add_path(s, image, path, *p, count);

	return r == -ENOSPC && !session_make_room(s) ? add_path(s, image, path, *p, count) : r;
}

struct showing {
	const struct db_batch *batch;
	void (*f)(void *arg, const struct session_sample *one);
	void *arg;
};

static void show_sample(void *arg, uint32_t image, uint64_t offset, uint64_t count)
{
	const struct showing *w = arg;
	struct session_sample one = {.image = image, .address = offset, .count = count};
	const struct image_id *id;

	db_batch_get_image(w->batch, image, &id, &one.path);
	w->f(w->arg, &one);
}

void session_each_sample(struct session *s, void (*f)(void *arg, const struct session_sample *one),
			 void *arg)
{
	struct showing w = {s->batch, f, arg};

	if (s->running)
		session_drain_all(s, NULL);
	db_batch_each_sample(s->batch, show_sample, &w);
}

static void store_counter(void *arg, const struct counter *c, uint64_t value)
{
	struct session *s = arg;

	if (c->stored && value)
		db_batch_count(s->batch, DB_EVENT_NONE, c->stored, value);
}

void session_add_counters(struct session *s, const struct counter_list *list, const void *values)
{
	counters_walk(list, values, &(struct counter_taker){store_counter, s});
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

	/* Records first, which began before our own programs were loaded, then the scan, then
	 * samples: so no mapping is missed. */
	sideband_read(s->sideband, clock_monotonic_ns(), take_kernel_record, s);
	if (!r)
		r = sideband_start(s->sideband, diag);
	if (!r)
		r = processes_scan(s->processes, 0, diag);
	processes_set_catch_up(s->processes, read_records, s);
	if (!r && s->root_count)
		r = session_take_descendants(s, diag);
	if (!r)
		r = sampler_start(s->sampler, diag);
	if (r)
		return r;
	s->running = true;
	period_init(&s->round, ROUND_NS, 0, ROUND_WIDTH, clock_wall_ns(), 0);
	s->batch_start_ns = s->started_ns = clock_wall_ns();
	s->last_round_ns = clock_monotonic_ns();
	s->next_round_ns = s->last_round_ns + ROUND_FIRST_NS;
	s->next_collect_ns = s->last_round_ns + COLLECT_NS;
	clock_meter_begin(&s->clock, s->last_round_ns, host_interrupts(""));
	tally_start(&s->tally, &s->config, &s->rate, s->skid, &s->core, &s->clock);
	session_start_budget(s);
	return 0;
}

void *session_follower(const struct session *s, const struct follower_ops *ops,
		       const char **ret_why)
{
	return followers_find(&s->followers, ops, ret_why);
}

uint64_t session_period(const struct session *s, size_t event)
{
	return s->periods[event];
}

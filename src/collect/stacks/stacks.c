/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stacks.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/cost/pace.h"
#include "collect/events/sampler.h"
#include "collect/process/file_slots.h"
#include "collect/stacks/stack_counts.h"
#include "collect/stacks/stack_files.h"
#include "collect/stacks/stack_rest.h"
#include "collect/stacks/stack_store.h"
#include "collect/stacks/stack_waiting.h"
#include "collect/stacks/unwinder.h"
#include "unwind/unwind_walk.h"
#include "util/clock.h"

#define LOOKS_A_DRAIN 64
/* Assumed of a stack until it was measured, and of the drain's work for it. */
#define DEFAULT_NS     10000.0
#define DRAIN_STACK_NS 3000.0
/* Longer than any round of the session, which drains too: so this wakes nobody. */
#define DRAIN_NS 600000000ull
/* Stacks between two drains: at least, at most, and for each CPU. Each drain looks at all the
 * places of so many. */
#define DISTINCT_LEAST 4096
#define DISTINCT_MOST  16384
#define DISTINCT_A_CPU 256
#define EARLY_MAX      64
/* The rings: at least, and for each CPU. */
#define RING_BYTES	   (512u << 10)
#define SNAPSHOT_BYTES	   (4u << 20)
#define RING_CPU_BYTES	   (64u << 10)
#define SNAPSHOT_CPU_BYTES (64u << 10)
#define NAME_BYTES	   (1u << 20)
#define NAME_CPU_BYTES	   (128u << 10)
#define RING_BYTES_MAX	   (16u << 20)
#define CODES_MAX	   (PYTHON_CODES_MAX / 2) /* of Python, that the program knows at a time */
/* Of the time, at most, for stacks whose tables are lacking; but so much at once, for the many
 * tables of a program that begins. */
#define WAITING_SHARE	 20
#define WAITING_BURST_NS 3000000000ull
#define WAITING_NS	 1000000ull
/* Of those that wait in our own memory, while their tables are made; and, when the recording ends,
 * how long for. */
#define WAITING_BYTES (32u << 20)
/* A table may have to wait for what its user may spend. No longer than this: of all processes what
 * has ended is known while a stack of that time waits. */
#define WAITING_MOST_NS	  300000000000ull
#define WAITING_FINISH_NS 2000000000ull

struct stacks {
	struct follower_config config;
	struct stacks_options options;
	struct unwinder *kernel;
	struct stack_files *files;
	struct file_slots *names;
	struct scripts *scripts;
	struct python_codes *codes;
	struct stack_store store;
	struct pace pace;
	struct stack_counts *counts;
	struct stack_waiting *waiting;
	/* Stacks that came before their count: of programs that ran between the two looks. */
	struct wire_stack *early[EARLY_MAX];
	unsigned early_count;
	uint64_t next_ns, next_waiting_ns;
	uint64_t followed_ns; /* what processes did until then is known */
	/* What snapshots took, less what their share was since, by then. */
	uint64_t waiting_ns, waited_ns;
	uint64_t ends[WIRE_STACK_ENDS]; /* of those that were finished here */
	uint64_t finished, stored, lost_storage;
	uint64_t codes_taken; /* since they were last forgotten */
};

static int put_file(void *arg, const struct wire_file *file, uint32_t slot)
{
	struct stacks *s = arg;

	return unwinder_put_file(s->kernel, file, slot);
}

static void drop_file(void *arg, const struct wire_file *file)
{
	struct stacks *s = arg;

	unwinder_drop_file(s->kernel, file);
}

static int give_slot(void *arg, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	struct stacks *s = arg;

	return stack_files_give(s->files, m, pid, ret);
}

/* A power of two, as rings and tables are. */
static uint32_t for_cpus(uint32_t least, uint32_t each, uint32_t most)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t wanted = (uint64_t)(cpus > 0 ? cpus : 1) * each;
	uint32_t size = least;

	while (size < wanted && size < most)
		size *= 2;
	return size;
}

static uint32_t ring_bytes(uint32_t least, uint32_t each)
{
	return for_cpus(least, each, RING_BYTES_MAX);
}

static stack_waiting_go_on go_on;
static stack_waiting_is_pending is_pending;

static int open_kernel(struct stacks *s, struct diag *diag)
{
	uint64_t chunk = WIRE_UNWIND_CHUNK_ROWS * sizeof(uint32_t);
	uint64_t bytes = s->options.memory_bytes ?: STACKS_MEMORY_DEFAULT;
	struct unwinder_config config = {
		.files = FILE_SLOTS_MAX,
		.rows = (uint32_t)((bytes + chunk - 1) / chunk * WIRE_UNWIND_CHUNK_ROWS),
		.stacks = for_cpus(DISTINCT_LEAST, DISTINCT_A_CPU, DISTINCT_MOST),
		.ring_bytes = ring_bytes(RING_BYTES, RING_CPU_BYTES),
		.snapshot_bytes = ring_bytes(SNAPSHOT_BYTES, SNAPSHOT_CPU_BYTES),
		.codes = CODES_MAX,
		.name_bytes = ring_bytes(NAME_BYTES, NAME_CPU_BYTES),
		.types = s->config.types,
		.tick = sampler_tick(s->config.sampler),
	};
	struct stack_files_config files = {
		.sampler = s->config.sampler,
		.row_count = config.rows,
		.originals = s->config.originals,
		.allowance = s->config.allowance,
	};

	s->options.memory_bytes = config.rows * sizeof(uint32_t);
	int r = unwinder_new(&config, &s->kernel, diag);
	if (r)
		return r;
	files.kernel = s->kernel;
	s->counts = stack_counts_new(2 * (size_t)config.stacks);
	s->scripts = scripts_new();
	s->codes = s->scripts ? python_codes_new(s->scripts) : NULL;
	s->waiting = stack_waiting_new(WAITING_BYTES, go_on, is_pending, s);
	if (!s->counts || !s->codes || !s->waiting)
		return diag_fail(diag, ENOMEM, "out of memory");
	return stack_files_new(&files, &s->files, diag);
}

static void stacks_close(void *self)
{
	struct stacks *s = self;

	file_slots_free(s->names);
	for (unsigned i = 0; i < s->early_count; i++)
		free(s->early[i]);
	stack_files_free(s->files);
	unwinder_free(s->kernel);
	stack_counts_free(s->counts);
	stack_waiting_free(s->waiting);
	python_codes_free(s->codes);
	scripts_free(s->scripts);
	free(s);
}

static int stacks_open(const struct follower_config *config, void **ret, struct diag *diag)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->config = *config;
	if (config->options)
		s->options = *(const struct stacks_options *)config->options;
	int r = open_kernel(s, diag);
	if (!r)
		r = sampler_set_follower(config->sampler, WIRE_FOLLOW_STACK,
					 unwinder_program(s->kernel),
					 unwinder_tick_program(s->kernel), "unwinder", diag);
	if (r)
		stacks_close(s);
	else
		*ret = s;
	return r;
}

static struct follower_plan stacks_plan(const void *self)
{
	const struct stacks *s = self;

	if (s->options.hz > 0)
		return (struct follower_plan){.hz = s->options.hz, .each_ns = STACKS_COUNTED_NS};
	return (struct follower_plan){.share = STACKS_BUDGET_SHARE};
}

/* A rate of samples that is asked for is not the budget's, and nor is then one of stacks. */
static double budget(const struct stacks *s, double factor, double hz)
{
	if (!(s->options.hz > 0))
		return s->config.budget_percent * STACKS_BUDGET_SHARE * factor;
	if (s->config.rate_hz > 0)
		return INFINITY;
	return fmin(s->options.hz, hz) * STACKS_COUNTED_NS * 100 / 1e9;
}

static void follow(struct stacks *s, bool on)
{
	sampler_follow(s->config.sampler, WIRE_FOLLOW_STACK, on ? s->pace.period : 0);
}

static int stacks_start(void *self, const struct follower_start *start)
{
	struct stacks *s = self;
	struct file_slots_config config = {
		.resolver = start->resolver,
		.put = put_file,
		.drop = drop_file,
		.give = give_slot,
		.arg = s,
	};
	struct pace_config pace = {
		.budget_percent = budget(s, 1, start->hz),
		.hz = start->hz,
		.most_hz = isinf(s->options.hz) ? 0 : s->options.hz ?: STACKS_HZ,
		.cost_ns = DEFAULT_NS,
		.drain_ns = DRAIN_STACK_NS,
	};

	s->store = (struct stack_store){.resolver = start->resolver,
					.keeper = s->config.keeper,
					.files = s->files,
					.batch = s->config.batch,
					.scripts = s->scripts,
					.codes = s->codes};
	s->names = file_slots_new(&config);
	if (!s->names)
		return -ENOMEM;
	pace_start(&s->pace, &pace);
	follow(s, true);
	return 0;
}

static void stacks_set_pace(void *self, double factor, double hz)
{
	struct stacks *s = self;

	if (pace_change(&s->pace, budget(s, factor, hz), hz))
		follow(s, true);
}

static int stacks_begin_batch(void *self)
{
	struct stacks *s = self;

	s->store.batch_number++;
	return 0;
}

static void store(struct stacks *s, const struct wire_stack *stack, uint64_t count)
{
	int r = stack_store(&s->store, stack, count);

	if (r == -ENOSPC && s->config.make_room(s->config.arg) == 0)
		r = stack_store(&s->store, stack, count);
	if (r)
		s->lost_storage += count;
	else
		s->stored += count;
}

static void take_count(void *arg, const struct wire_stack_key *key, uint32_t count)
{
	struct stacks *s = arg;

	stack_counts_add(s->counts, key, count);
}

/* On a busy machine much time passes between the last look at what processes did and a stack: whose
 * it is, and what was mapped where it is, may be of that time. */
static void catch_up(struct stacks *s, const struct wire_stack *stack)
{
	if (stack->time_ns < s->followed_ns)
		return;
	s->followed_ns = clock_monotonic_ns();
	s->config.follow(s->config.arg);
}

/* False: its count has not come yet. */
static bool store_counted(struct stacks *s, const struct wire_stack *stack)
{
	uint32_t count = stack_counts_take(s->counts, &stack->key);

	if (!count)
		return false;
	catch_up(s, stack);
	store(s, stack, count);
	return true;
}

static void take_stack(void *arg, const struct wire_stack *stack)
{
	struct stacks *s = arg;
	struct wire_stack *copy;

	if (store_counted(s, stack) || s->early_count == EARLY_MAX)
		return;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return;
	/* The record is cut after its last frame. */
	memcpy(copy, stack, unwinder_stack_bytes(stack));
	s->early[s->early_count++] = copy;
}

/* After the counts, before further stacks. */
static void take_early(void *arg)
{
	struct stacks *s = arg;

	for (unsigned i = 0; i < s->early_count; i++) {
		store_counted(s, s->early[i]);
		free(s->early[i]);
	}
	s->early_count = 0;
}

/* With must_end it does not wait, whatever this returns. */
static uint32_t go_on(void *arg, const struct wire_snapshot *snapshot, bool must_end)
{
	struct stacks *s = arg;
	struct wire_stack whole;
	uint32_t slot = stack_rest(s->store.resolver, s->files, snapshot, &whole);

	if (slot && !must_end)
		return slot;
	s->ends[whole.end]++;
	s->finished += whole.end != WIRE_STACK_NO_TABLE;
	store(s, &whole, 1);
	return 0;
}

static bool is_pending(void *arg, uint32_t slot)
{
	struct stacks *s = arg;

	if (slot & STACK_REST_LOOKS)
		return files_is_asked(s->config.files, slot & ~STACK_REST_LOOKS);
	return stack_files_is_pending(s->files, slot);
}

/* One that met a file without a table, which it gets soon; the kernel learns of it. */
static void take_snapshot(void *arg, const struct wire_snapshot *snapshot)
{
	struct stacks *s = arg;
	const struct wire_stack *stack = &snapshot->stack;
	struct file_place place = {
		.file = stack->file,
		.offset = stack->file_offset,
		.address = stack->address,
		.time_ns = stack->time_ns,
		.tgid = (pid_t)(stack->process & WIRE_TGID_MASK),
	};
	uint32_t slot;

	catch_up(s, stack);
	slot = go_on(s, snapshot, false);
	if (slot && stack_waiting_add(s->waiting, snapshot, slot))
		go_on(s, snapshot, true);
	if (stack->frame[WIRE_STACK_PLACE(stack->followed - 1)] & WIRE_FRAME_ADDRESS)
		file_slots_learn(s->names, &place);
}

static void take_code(void *arg, const struct wire_python_code *code, size_t size)
{
	struct stacks *s = arg;

	python_codes_take(s->codes, code, size);
	s->codes_taken++;
}

static const struct unwinder_taker *taker(struct stacks *s, struct unwinder_taker *ret)
{
	*ret = (struct unwinder_taker){take_count,    take_early, take_stack,
				       take_snapshot, take_code,  s};
	return ret;
}

/* The program knows as many codes of Python as it can, or there are as many names: they are
 * reported again. Stacks that have not arrived yet keep theirs in the first case. */
static void renew_codes(struct stacks *s)
{
	bool many = scripts_are_many(s->scripts);

	if (s->codes_taken < CODES_MAX / 4 * 3 && !many)
		return;
	unwinder_forget_codes(s->kernel);
	s->codes_taken = 0;
	if (!many)
		return;
	stack_waiting_end(s->waiting); /* they have the old numbers */
	scripts_keep(s->scripts, s->config.keeper);
	python_codes_clear(s->codes);
	scripts_clear(s->scripts);
}

/* All slots are taken: starts over. */
static void clear_all(struct stacks *s)
{
	struct unwinder_taker t;

	follow(s, false);
	file_slots_clear(s->names);
	unwinder_forget(s->kernel);
	sampler_quiesce(s->config.sampler, NULL);
	unwinder_drain(s->kernel, taker(s, &t));
	unwinder_take_snapshots(s->kernel, &t);
	stack_waiting_end(s->waiting);
	file_slots_clear(s->names);
	stack_files_clear(s->files);
	follow(s, true);
}

static void take_tables(struct stacks *s)
{
	s->waiting_ns += stack_files_take(s->files);
	stack_waiting_retry(s->waiting);
}

static void take_waiting(struct stacks *s)
{
	uint64_t begin_ns = clock_monotonic_ns(), now_ns;
	uint64_t paid_ns = (begin_ns - s->waited_ns) / WAITING_SHARE;
	struct unwinder_taker t;

	s->waiting_ns -= paid_ns < s->waiting_ns ? paid_ns : s->waiting_ns;
	s->waited_ns = begin_ns;
	file_slots_begin(s->names, LOOKS_A_DRAIN);
	unwinder_take_snapshots(s->kernel, taker(s, &t));
	if (file_slots_full(s->names))
		clear_all(s);
	now_ns = clock_monotonic_ns();
	s->waiting_ns += now_ns - begin_ns;
	s->next_waiting_ns = now_ns + WAITING_NS;
	if (s->waiting_ns > WAITING_BURST_NS)
		s->next_waiting_ns += (s->waiting_ns - WAITING_BURST_NS) * WAITING_SHARE;
}

static void stacks_drain(void *self, uint64_t now_ns)
{
	struct stacks *s = self;
	struct wire_stack_counters c;
	struct unwinder_taker t;

	unwinder_drain(s->kernel, taker(s, &t));
	stack_counts_age(s->counts);
	renew_codes(s);
	take_tables(s);
	take_waiting(s);
	if (now_ns > WAITING_MOST_NS)
		stack_waiting_end_before(s->waiting, now_ns - WAITING_MOST_NS);
	unwinder_count(s->kernel, &c);
	if (pace_update(&s->pace, c.stacks, c.spent_ns))
		follow(s, true);
	s->next_ns = now_ns + DRAIN_NS;
}

static void stacks_finish(void *self)
{
	struct stacks *s = self;
	uint64_t end_ns = clock_monotonic_ns() + WAITING_FINISH_NS, now_ns;
	struct pollfd fds[] = {{.fd = stack_files_fd(s->files), .events = POLLIN},
			       {.fd = files_fd(s->config.files), .events = POLLIN}};

	while (stack_waiting_count(s->waiting) && (now_ns = clock_monotonic_ns()) < end_ns) {
		poll(fds, 2, (int)((end_ns - now_ns) / 1000000 + 1));
		files_take_answers(s->config.files);
		take_tables(s);
	}
	stack_waiting_end(s->waiting);
}

static uint64_t stacks_oldest_ns(const void *self)
{
	const struct stacks *s = self;

	return stack_waiting_oldest_ns(s->waiting);
}

/* What stacks wait for: answers on files, tables that are made, and, unless it is too soon after
 * the last, a stack that met a file without a table. */
enum { WAKE_FILES, WAKE_TABLES, WAKE_SNAPSHOTS };

static uint64_t stacks_poll(const void *self, uint64_t now_ns, int *fds)
{
	const struct stacks *s = self;
	bool soon = now_ns < s->next_waiting_ns;

	fds[WAKE_FILES] = files_fd(s->config.files);
	fds[WAKE_TABLES] = stack_files_fd(s->files);
	fds[WAKE_SNAPSHOTS] = soon ? -1 : unwinder_snapshot_fd(s->kernel);
	return soon ? s->next_waiting_ns : UINT64_MAX;
}

static void stacks_wake(void *self, const int *readable)
{
	struct stacks *s = self;

	if (readable[WAKE_FILES] || readable[WAKE_TABLES]) {
		files_take_answers(s->config.files);
		take_tables(s);
	}
	if (readable[WAKE_SNAPSHOTS])
		take_waiting(s);
}

static uint64_t stacks_next_ns(const void *self)
{
	const struct stacks *s = self;

	return s->next_ns;
}

static uint64_t stacks_spent_ns(const void *self)
{
	const struct stacks *s = self;
	struct wire_stack_counters c;

	unwinder_count(s->kernel, &c);
	return c.spent_ns;
}

void stacks_read_status(const void *stacks, struct stacks_status *ret)
{
	const struct stacks *s = stacks;
	struct python_codes_counters codes;
	struct stack_files_counters files;
	struct wire_stack_counters c;

	*ret = (struct stacks_status){0};
	if (!s)
		return;
	unwinder_count(s->kernel, &c);
	stack_files_count(s->files, &files);
	python_codes_count(s->codes, &codes);
	*ret = (struct stacks_status){
		.stacks = c.stacks,
		.frames = c.frames,
		.stored = s->stored,
		/* Stacks whose frames found no room in the ring are counts without frames. */
		.lost = c.lost_full + c.collisions + s->lost_storage + stack_counts_lost(s->counts),
		.finished = s->finished,
		.python_frames = c.python_frames,
		.python_unnamed = c.python_unnamed,
		.python_crowded = c.python_crowded,
		.python_strangers = c.python_strangers,
		.python_broken = c.python_broken,
		.python_codes = codes.codes,
		.python_refused = codes.refused,
		.python_unknown = codes.unknown,
		.python_without_lines = codes.without_lines,
		.spent_ns = c.spent_ns,
		.tables = files.tables,
		.table_bytes = files.table_bytes,
		.memory_bytes = s->options.memory_bytes,
		.evicted = files.evicted,
		.without_table = files.without,
		.derived_rows = files.derived_rows,
		.skipped_bytes = files.skipped_bytes,
		.kept_tables = files.cache.read,
		.late_tables = files.late,
		.refused_rows = files.refused,
		.cache_written = files.cache.written,
		.cache_damaged = files.cache.damaged,
		.cache_evicted = files.cache.evicted,
		.cache_failed = files.cache.failed,
		.period = s->pace.period,
		.mean_ns = c.stacks ? c.spent_ns / c.stacks : 0,
	};
	for (unsigned end = 0; end < WIRE_STACK_ENDS; end++)
		ret->ends[end] = c.ends[end] + s->ends[end];
	ret->complete = ret->ends[WIRE_STACK_COMPLETE] + ret->ends[WIRE_STACK_NO_USER];
}

static void stacks_each_counter(const void *self, const struct counter_taker *to)
{
	struct stacks_status s;
	char name[64];

	stacks_read_status(self, &s);
	counters_walk(&counters_of_stacks, &s, to);
	for (unsigned i = 0; i < WIRE_STACK_ENDS; i++) {
		snprintf(name, sizeof(name), "stacks.end.%s", unwind_end_name(i));
		to->take(to->arg, &(struct counter){.stored = name}, s.ends[i]);
	}
}

/* One for each version, with each flush, as the next may be of another epoch: reports name it. */
static void add_unknown_pythons(struct stacks *s)
{
	uint32_t unknown = stack_files_unknown_pythons(s->files);
	char name[64];

	for (unsigned minor = 0; minor < 32; minor++) {
		if (!(unknown >> minor & 1))
			continue;
		snprintf(name, sizeof(name), "stacks.python.version.%u", minor);
		db_batch_count(s->config.batch, DB_EVENT_NONE, name, 1);
	}
}

static void stacks_flush(void *self)
{
	struct stacks *s = self;

	scripts_keep(s->scripts, s->config.keeper);
	add_unknown_pythons(s);
}

const struct follower_ops stacks_follower = {
	.part = BUDGET_STACKS,
	.open = stacks_open,
	.close = stacks_close,
	.plan = stacks_plan,
	.start = stacks_start,
	.set_pace = stacks_set_pace,
	.drain = stacks_drain,
	.next_ns = stacks_next_ns,
	.each_counter = stacks_each_counter,
	.flush = stacks_flush,
	.begin_batch = stacks_begin_batch,
	.spent_ns = stacks_spent_ns,
	.poll = stacks_poll,
	.wake = stacks_wake,
	.oldest_ns = stacks_oldest_ns,
	.finish = stacks_finish,
};

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edges/edges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/events/sampler.h"
#include "collect/edges/edge_code.h"
#include "collect/edges/edge_windows.h"
#include "collect/process/file_slots.h"
#include "collect/cost/pace.h"
#include "collect/edges/windows.h"
#include "collect/values/value_store.h"

/* Work of one drain; what is left out comes back with the next windows. */
#define MEMORY_BYTES   (16u << 20) /* of decoded code */
#define DECODE_A_DRAIN 512	   /* strips */
#define LEARN_A_DRAIN  64	   /* files to look at */
/* Between drains: while code is new, and later. */
#define SOON_NS	       25000000ull
#define LATER_NS       250000000ull
#define RING_LEAST     (1u << 20)
#define RING_MOST      (64u << 20)
#define RING_A_CPU     (512u << 10)
#define PAIR_RING_PART 16 /* of the ring of windows: pairs are fewer, and short */
#define SOON_PART      16 /* one window in so many lacked something: soon */

struct edges {
	struct follower_config config;
	const struct resolver *resolver;
	uint32_t event;		/* whose samples are followed */
	struct windows *kernel; /* the interpreter */
	struct edge_code *code;
	struct edge_windows *store;
	struct value_store *values; /* NULL: they are not wanted */
	struct file_slots *names;
	struct pace pace;
	uint64_t next_ns;
	int decode_left;
	uint64_t taken, lacking; /* windows of this drain; of these, that lacked code */
};

static int put_file(void *arg, const struct wire_file *file, uint32_t slot)
{
	struct edges *e = arg;

	return windows_put_file(e->kernel, file, slot);
}

static void drop_file(void *arg, const struct wire_file *file)
{
	struct edges *e = arg;

	windows_drop_file(e->kernel, file);
}

static int give_slot(void *arg, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	struct edges *e = arg;
	int fd;

	*ret = edge_code_find(e->code, m->file->number);
	if (*ret || m->file->state != FILE_ELF || m->identity == MAPPING_REWRITTEN)
		return 0;
	fd = files_open(m->file, &(struct file_mapping){pid, m->start, m->end, m->born_ns});
	return fd < 0 ? fd : edge_code_add(e->code, m->file, fd, ret);
}

static int put_strip(void *arg, const struct wire_strip_key *key, const struct wire_strip *strip)
{
	struct edges *e = arg;

	return windows_put_strip(e->kernel, key->slot, key->number, strip);
}

static void drop_strip(void *arg, const struct wire_strip_key *key)
{
	struct edges *e = arg;

	windows_drop_strip(e->kernel, key->slot, key->number);
}

static int quiesce(void *arg)
{
	struct edges *e = arg;

	return sampler_quiesce(e->config.sampler, NULL);
}

/* For the longest time between two drains; at the rates of the budget it is never half full. */
static uint32_t ring_bytes(unsigned cpus)
{
	uint32_t bytes = RING_LEAST;

	while (bytes < RING_MOST && bytes < cpus * RING_A_CPU)
		bytes *= 2;
	return bytes;
}

static const struct values_options *values_wanted(const struct edges *e)
{
	const struct values_options *o = e->config.options;

	return o && o->kinds ? o : NULL;
}

static int open_kernel(struct edges *e, struct diag *diag)
{
	struct windows_config config = {
		.files = FILE_SLOTS_MAX,
		.strips = EDGE_STRIPS_MAX,
		.micros = MEMORY_BYTES / sizeof(struct wire_micro),
		.ring_bytes = ring_bytes(sampler_cpus(e->config.sampler)),
		.pair_ring_bytes = ring_bytes(sampler_cpus(e->config.sampler)) / PAIR_RING_PART,
		.types = e->config.types,
		.with_tick = sampler_tick(e->config.sampler) != NULL,
		.with_values = values_wanted(e) != NULL,
	};
	static const enum wire_follower followers[] = {WIRE_FOLLOW_WINDOW, WIRE_FOLLOW_PAIR,
						       WIRE_FOLLOW_PAIR_MISSED};
	int r = windows_new(&config, &e->kernel, diag);

	for (size_t i = 0; !r && i < sizeof(followers) / sizeof(*followers); i++)
		r = sampler_set_follower(e->config.sampler, followers[i],
					 windows_program(e->kernel, followers[i]),
					 windows_tick_program(e->kernel, followers[i]),
					 "interpreter of edge samples", diag);
	return r;
}

static int find_value(void *arg, struct wire_place place, struct value_spot *ret)
{
	struct edges *e = arg;

	return edge_windows_find(e->store, place, &ret->image, &ret->offset, &ret->path);
}

static int open_values(struct edges *e, struct diag *diag)
{
	const struct value_store_config config = {.options = values_wanted(e),
						  .batch = e->config.batch,
						  .make_room = e->config.make_room,
						  .arg = e->config.arg,
						  .find = find_value,
						  .find_arg = e};

	if (!config.options)
		return 0;
	e->values = value_store_new(&config);
	return e->values ? 0 : diag_fail(diag, ENOMEM, "out of memory");
}

static int open_rooms(struct edges *e, struct diag *diag)
{
	struct edge_memory memory = {
		.micros = windows_micros(e->kernel),
		.micro_count = MEMORY_BYTES / sizeof(struct wire_micro),
		.put_strip = put_strip,
		.drop_strip = drop_strip,
		.quiesce = quiesce,
		.arg = e,
	};
	struct edge_windows_config store = {
		.batch = e->config.batch, .make_room = e->config.make_room, .arg = e->config.arg};
	int r = edge_code_new(&memory, e->config.worker, &e->code, diag);

	if (r)
		return r;
	store.code = e->code;
	e->store = edge_windows_new(&store);
	return e->store ? open_values(e, diag) : diag_fail(diag, ENOMEM, "out of memory");
}

static void edges_close(void *self)
{
	struct edges *e = self;

	value_store_free(e->values);
	edge_windows_free(e->store);
	edge_code_free(e->code);
	windows_free(e->kernel);
	file_slots_free(e->names);
	free(e);
}

static int edges_open(const struct follower_config *config, void **ret, struct diag *diag)
{
	struct edges *e = calloc(1, sizeof(*e));

	if (!e)
		return diag_fail(diag, ENOMEM, "out of memory");
	e->config = *config;
	int r = open_kernel(e, diag);
	if (!r)
		r = open_rooms(e, diag);
	if (r)
		edges_close(e);
	else
		*ret = e;
	return r;
}

static struct follower_plan edges_plan(const void *self)
{
	(void)self;
	return (struct follower_plan){.share = EDGES_BUDGET_SHARE};
}

static void follow(struct edges *e, bool on)
{
	sampler_follow(e->config.sampler, WIRE_FOLLOW_WINDOW, on ? e->pace.period : 0);
}

static int edges_start(void *self, const struct follower_start *start)
{
	struct edges *e = self;
	struct file_slots_config names = {
		.resolver = start->resolver,
		.put = put_file,
		.drop = drop_file,
		.give = give_slot,
		.arg = e,
	};

	e->names = file_slots_new(&names);
	if (!e->names)
		return -ENOMEM;
	e->resolver = start->resolver;
	e->event = start->event;
	pace_start(&e->pace, &(struct pace_config){.budget_percent = e->config.budget_percent *
								     EDGES_BUDGET_SHARE,
						   .hz = start->hz,
						   .cost_ns = EDGE_WINDOW_DEFAULT_NS,
						   .drain_ns = EDGE_WINDOW_DRAIN_NS});
	follow(e, true);
	return 0;
}

static int edges_begin_batch(void *self)
{
	struct edges *e = self;

	return edge_windows_begin_batch(e->store);
}

static uint64_t edges_next_ns(const void *self)
{
	const struct edges *e = self;

	return e->next_ns;
}

/* Where a window ended that came to a file without a slot. Slot 0: not known. */
static struct wire_place learn_file(struct edges *e, const struct wire_window *w)
{
	const struct file_place place = {
		.file = w->file,
		.offset = w->file_offset,
		.address = w->address,
		.time_ns = w->time_ns,
		.tgid = (pid_t)(w->process & WIRE_TGID_MASK),
	};

	return (struct wire_place){file_slots_learn(e->names, &place), (uint32_t)w->file_offset};
}

/* Decodes what the window came to. */
static void want_code(struct edges *e, struct wire_place place)
{
	int decoded;

	if (!place.slot || e->decode_left <= 0)
		return;
	decoded = edge_code_want(e->code, place);
	if (decoded > 0)
		e->decode_left -= decoded;
}

static void take_window(void *arg, const struct wire_window *w)
{
	struct wire_place learnt = {0, 0};
	struct edges *e = arg;

	e->taken++;
	if (w->end_reason == WIRE_END_NO_FILE) {
		learnt = learn_file(e, w);
		want_code(e, learnt);
	} else if (w->end_reason == WIRE_END_COLD) {
		want_code(e, w->end);
	}
	e->lacking += w->end_reason == WIRE_END_NO_FILE || w->end_reason == WIRE_END_COLD;
	edge_windows_take(e->store, w, learnt);
}

static void take_pair(void *arg, const struct wire_pair *pair)
{
	struct edges *e = arg;

	edge_windows_take_pair(e->store, pair);
}

static void take_values(void *arg, const struct wire_values *values)
{
	struct edges *e = arg;

	if (e->values)
		value_store_take(e->values, values);
}

static void drain_kernel(struct edges *e)
{
	windows_drain(e->kernel, &(struct windows_taker){take_window, take_pair, take_values, e});
}

/* All slots are taken: starts over. Nothing that names the old ones may still be on its way. */
static void clear_all(struct edges *e)
{
	follow(e, false);
	file_slots_clear(e->names);
	sampler_quiesce(e->config.sampler, NULL);
	file_slots_begin(e->names, 0);
	drain_kernel(e);
	edge_code_clear(e->code);
	follow(e, true);
}

static void set_pace(struct edges *e)
{
	struct wire_window_counters c;

	windows_count(e->kernel, &c);
	if (pace_update(&e->pace, c.windows, c.spent_ns))
		follow(e, true);
}

static void edges_set_pace(void *self, double factor, double hz)
{
	struct edges *e = self;

	if (pace_change(&e->pace, e->config.budget_percent * EDGES_BUDGET_SHARE * factor, hz))
		follow(e, true);
}

static void edges_drain(void *self, uint64_t now_ns)
{
	struct edges *e = self;

	file_slots_begin(e->names, LEARN_A_DRAIN);
	e->decode_left = DECODE_A_DRAIN;
	e->taken = e->lacking = 0;
	drain_kernel(e);
	if (file_slots_full(e->names))
		clear_all(e);
	set_pace(e);
	e->next_ns = now_ns + (e->lacking * SOON_PART > e->taken ? SOON_NS : LATER_NS);
}

void edges_read_status(const void *edges, struct edges_status *ret)
{
	const struct edges *e = edges;
	struct edge_windows_counters w;
	struct wire_window_counters c;
	struct edge_code_counters code;
	struct value_store_counters v = {0};

	*ret = (struct edges_status){0};
	if (!e)
		return;
	edge_windows_read_counters(e->store, &w);
	edge_code_read_counters(e->code, &code);
	windows_count(e->kernel, &c);
	if (e->values)
		value_store_read_counters(e->values, &v);
	*ret = (struct edges_status){
		.value_windows = v.windows,
		.values = v.values,
		.values_lost = v.lost,
		.values_lost_windows = c.values_lost,
		.windows = c.windows,
		.outcomes = c.edges,
		.instructions = c.instructions,
		.spent_ns = c.spent_ns,
		.stored = w.windows,
		.stored_outcomes = w.outcomes,
		.empty = w.empty,
		.pairs = c.pairs,
		.pairs_stored = w.pairs,
		.pairs_left = w.pairs_left,
		.unplaced = file_slots_unplaced(e->names),
		.kernel_samples = resolver_counters(e->resolver, e->event)->kernel,
		.decoded = code.decoded,
		.evicted = code.evicted,
		.unreadable = code.unreadable,
		.lost = w.lost_storage + w.lost_memory + c.lost,
		.refused = w.refused,
		.mean_ns = c.windows ? c.spent_ns / c.windows : 0,
		.period = e->pace.period,
	};
	memcpy(ret->ends, c.ends, sizeof(ret->ends));
}

static void edges_each_counter(const void *self, const struct counter_taker *to)
{
	static const char *const ends[WIRE_END_REASONS] = WIRE_END_NAMES;
	struct edges_status s;
	char name[64];

	edges_read_status(self, &s);
	counters_walk(&counters_of_edges, &s, to);
	for (unsigned i = 0; i < WIRE_END_REASONS; i++) {
		snprintf(name, sizeof(name), "windows.end.%s", ends[i]);
		to->take(to->arg, &(struct counter){.stored = name}, s.ends[i]);
	}
}

static void edges_flush(void *self)
{
	struct edges *e = self;
	char period[16];

	snprintf(period, sizeof(period), "%u", e->pace.period);
	db_batch_fact(e->config.batch, "window_period", period);
}

static uint64_t edges_spent_ns(const void *self)
{
	const struct edges *e = self;
	struct wire_window_counters c;

	windows_count(e->kernel, &c);
	return c.spent_ns;
}

const struct follower_ops edges_follower = {
	.part = BUDGET_WINDOWS,
	.open = edges_open,
	.close = edges_close,
	.plan = edges_plan,
	.start = edges_start,
	.set_pace = edges_set_pace,
	.drain = edges_drain,
	.next_ns = edges_next_ns,
	.each_counter = edges_each_counter,
	.flush = edges_flush,
	.begin_batch = edges_begin_batch,
	.spent_ns = edges_spent_ns,
};

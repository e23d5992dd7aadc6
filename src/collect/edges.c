/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/edge_code.h"
#include "collect/edge_windows.h"
#include "collect/file_slots.h"
#include "collect/pace.h"
#include "collect/windows.h"

/* Work of one drain; what is left out comes back with the next windows. */
#define DECODE_A_DRAIN 512 /* strips */
#define LEARN_A_DRAIN  64  /* files to look at */
/* Between drains: while code is new, and later. */
#define SOON_NS	   25000000ull
#define LATER_NS   250000000ull
#define RING_LEAST (1u << 20)
#define RING_MOST  (64u << 20)
#define RING_A_CPU (512u << 10)
#define SOON_PART  16 /* one window in so many lacked something: soon */

struct edges {
	struct edges_config config;
	const struct resolver *resolver;
	uint32_t event;		/* whose samples are followed */
	struct windows *kernel; /* the interpreter */
	struct edge_code *code;
	struct edge_windows *store;
	struct file_slots *names;
	struct pace pace;
	uint64_t next_ns;
	int decode_left;
	uint64_t taken, lacking;     /* windows of this drain; of these, that lacked code */
	struct edges_status flushed; /* as of the last flush */
	struct edge_windows_counters flushed_windows;
	struct edge_code_counters flushed_code;
	uint64_t flushed_unplaced, flushed_kernel;
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

static int open_kernel(struct edges *e, struct diag *diag)
{
	uint32_t bytes = e->config.memory_bytes ?: EDGES_MEMORY_DEFAULT;
	struct windows_config config = {
		.files = FILE_SLOTS_MAX,
		.strips = EDGE_STRIPS_MAX,
		.micros = bytes / sizeof(struct wire_micro),
		.ring_bytes = ring_bytes(sampler_cpus(e->config.sampler)),
		.types = e->config.types,
	};
	int r = windows_new(&config, &e->kernel, diag);

	return r ?: sampler_set_interpreter(e->config.sampler, windows_program(e->kernel), diag);
}

static int open_rooms(struct edges *e, struct diag *diag)
{
	uint32_t bytes = e->config.memory_bytes ?: EDGES_MEMORY_DEFAULT;
	struct edge_memory memory = {
		.micros = windows_micros(e->kernel),
		.micro_count = bytes / sizeof(struct wire_micro),
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
	return e->store ? 0 : diag_fail(diag, ENOMEM, "out of memory");
}

int edges_new(const struct edges_config *config, struct edges **ret, struct diag *diag)
{
	struct edges *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return diag_fail(diag, ENOMEM, "out of memory");
	e->config = *config;
	r = open_kernel(e, diag);
	if (!r)
		r = open_rooms(e, diag);
	if (r) {
		edges_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

static void follow(struct edges *e, bool on)
{
	sampler_interpret(e->config.sampler, e->event, on ? e->pace.period : 0);
}

int edges_start(struct edges *e, struct resolver *resolver, uint32_t event, double hz)
{
	struct file_slots_config names = {
		.resolver = resolver,
		.put = put_file,
		.drop = drop_file,
		.give = give_slot,
		.arg = e,
	};

	e->names = file_slots_new(&names);
	if (!e->names)
		return -ENOMEM;
	e->resolver = resolver;
	e->event = event;
	pace_start(&e->pace, &(struct pace_config){.budget_percent = e->config.budget_percent,
						   .hz = hz,
						   .cost_ns = EDGE_WINDOW_DEFAULT_NS,
						   .drain_ns = EDGE_WINDOW_DRAIN_NS});
	follow(e, true);
	return 0;
}

void edges_free(struct edges *e)
{
	if (!e)
		return;
	edge_windows_free(e->store);
	edge_code_free(e->code);
	windows_free(e->kernel);
	file_slots_free(e->names);
	free(e);
}

int edges_begin_batch(struct edges *e)
{
	return edge_windows_begin_batch(e->store);
}

uint64_t edges_next_ns(const struct edges *e)
{
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

/* All slots are given: begins anew. Nothing may be on its way that names the old ones. */
static void clear_all(struct edges *e)
{
	follow(e, false);
	file_slots_clear(e->names);
	sampler_quiesce(e->config.sampler, NULL);
	file_slots_begin(e->names, 0);
	windows_drain(e->kernel, take_window, e);
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

void edges_set_pace(struct edges *e, double budget_percent, double hz)
{
	if (pace_change(&e->pace, budget_percent, hz))
		follow(e, true);
}

void edges_drain(struct edges *e, uint64_t now_ns)
{
	file_slots_begin(e->names, LEARN_A_DRAIN);
	e->decode_left = DECODE_A_DRAIN;
	e->taken = e->lacking = 0;
	windows_drain(e->kernel, take_window, e);
	if (file_slots_full(e->names))
		clear_all(e);
	set_pace(e);
	e->next_ns = now_ns + (e->lacking * SOON_PART > e->taken ? SOON_NS : LATER_NS);
}

void edges_read_status(const struct edges *e, struct edges_status *ret)
{
	struct edge_windows_counters w;
	struct wire_window_counters c;
	struct edge_code_counters code;

	*ret = (struct edges_status){.period = e->pace.period};
	edge_windows_read_counters(e->store, &w);
	edge_code_read_counters(e->code, &code);
	ret->stored = w.windows;
	ret->refused = w.refused;
	ret->lost = w.lost_storage + w.lost_memory;
	ret->decoded = code.decoded;
	ret->evicted = code.evicted;
	ret->files = code.files;
	windows_count(e->kernel, &c);
	ret->windows = c.windows;
	ret->outcomes = c.edges;
	ret->instructions = c.instructions;
	ret->spent_ns = c.spent_ns;
	ret->lost += c.lost;
	memcpy(ret->ends, c.ends, sizeof(ret->ends));
}

static void add(struct edges *e, const char *name, uint64_t now, uint64_t *before)
{
	if (now > *before)
		db_batch_count(e->config.batch, DB_EVENT_NONE, name, now - *before);
	*before = now;
}

void edges_flush(struct edges *e)
{
	static const char *const ends[WIRE_END_REASONS] = WIRE_END_NAMES;
	const struct resolver_event_counters *samples = resolver_counters(e->resolver, e->event);
	struct edge_windows_counters w;
	struct edge_code_counters code;
	struct edges_status s;
	char name[64];

	edges_read_status(e, &s);
	edge_windows_read_counters(e->store, &w);
	edge_code_read_counters(e->code, &code);
	add(e, "windows.taken", s.windows, &e->flushed.windows);
	add(e, "windows.stored", w.windows, &e->flushed_windows.windows);
	add(e, "windows.outcomes", w.outcomes, &e->flushed_windows.outcomes);
	add(e, "windows.instructions", s.instructions, &e->flushed.instructions);
	add(e, "windows.ns", s.spent_ns, &e->flushed.spent_ns);
	add(e, "windows.empty", w.empty, &e->flushed_windows.empty);
	add(e, "windows.unplaced", file_slots_unplaced(e->names), &e->flushed_unplaced);
	add(e, "windows.kernel_samples", samples->kernel, &e->flushed_kernel);
	for (unsigned i = 0; i < WIRE_END_REASONS; i++) {
		snprintf(name, sizeof(name), "windows.end.%s", ends[i]);
		add(e, name, s.ends[i], &e->flushed.ends[i]);
	}
	add(e, "windows.strips.decoded", code.decoded, &e->flushed_code.decoded);
	add(e, "windows.strips.evicted", code.evicted, &e->flushed_code.evicted);
	add(e, "windows.strips.unreadable", code.unreadable, &e->flushed_code.unreadable);
	/* Without "windows.": what every report should tell. */
	add(e, "edges.lost", s.lost, &e->flushed.lost);
	add(e, "edges.refused", w.refused, &e->flushed_windows.refused);
	snprintf(name, sizeof(name), "%u", s.period);
	db_batch_fact(e->config.batch, "window_period", name);
}

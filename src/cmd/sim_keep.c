/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/sim_keep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "exchange/harvest.h"
#include "util/array.h"
#include "util/clock.h"

#define BYTES_MAX ((size_t)2 << 30)
#define NONE	  UINT32_MAX
#define FLAGS	  (DB_EVENT_PRECISE | DB_EVENT_RANDOMIZED | DB_EVENT_USER)

struct sim_keep {
	struct harvest *harvest;
	uint32_t event, cycles, subject;
	uint32_t *places; /* of sites; NONE: not yet */
	size_t place_count, place_room;
	uint64_t too_many, start_ns;
};

static int add_event(struct sim_keep *k, const char *name, uint32_t *ret)
{
	int r = harvest_event(k->harvest, name, strlen(name), ret);

	if (!r)
		harvest_event_set(k->harvest, *ret, 1, FLAGS);
	return r;
}

int sim_keep_new(const char *comm, struct sim_keep **ret)
{
	struct sim_keep *k = calloc(1, sizeof(*k));
	struct subject_pair pair = {"comm", comm, 4, strnlen(comm, 15)};
	uint8_t subject[SUBJECT_MAX_BYTES];
	long size = subject_build(&pair, 1, subject, sizeof(subject));

	if (!k)
		return -ENOMEM;
	k->start_ns = clock_wall_ns();
	k->harvest = harvest_new();
	/* Cycles come first: they are what reports show by themselves. */
	if (size < 0 || !k->harvest || add_event(k, "sim-cycles", &k->cycles) ||
	    add_event(k, SIM_KEEP_EVENT, &k->event) ||
	    harvest_subject(k->harvest, subject, (size_t)size, &k->subject)) {
		sim_keep_free(k);
		return -ENOMEM;
	}
	*ret = k;
	return 0;
}

void sim_keep_free(struct sim_keep *k)
{
	if (!k)
		return;
	harvest_free(k->harvest);
	free(k->places);
	free(k);
}

/* The place of a site in the harvest. */
static int find_place(struct sim_keep *k, const struct sim *s, uint32_t number, uint32_t *ret)
{
	const struct sim_site *site = sim_code_site(sim_read_code(s), number);
	struct harvest_image image = {.kind = HARVEST_FILE};
	size_t before = k->place_count;
	bool writable;
	uint32_t to;

	if (number >= before) {
		if (array_reserve(&k->places, number + 1u, &k->place_room, sizeof(*k->places),
				  4096))
			return -ENOMEM;
		k->place_count = number + 1u;
		memset(k->places + before, 0xff, (number + 1u - before) * sizeof(*k->places));
	}
	if (k->places[number] == NONE) {
		image.path =
			sim_code_path(sim_read_code(s), site->mapping, &image.path_size, &writable);
		if (writable || image.path_size == 0 || image.path[0] != '/')
			image = (struct harvest_image){
				.kind = HARVEST_UNKNOWN, .path = "[unknown]", .path_size = 9};
		int r = harvest_image(k->harvest, &image, &to);

		if (!r)
			r = harvest_place(k->harvest, to,
					  image.kind == HARVEST_FILE ? site->offset : site->address,
					  &k->places[number]);
		if (r)
			return r;
	}
	*ret = k->places[number];
	return 0;
}

int sim_keep_take(struct sim_keep *k, const struct sim *s, const struct sim_pair *pair)
{
	struct harvest_inst inst = {.event = k->event,
				    .subject = k->subject,
				    .record = pair->first.record,
				    .other_place = HARVEST_NONE};
	int r = find_place(k, s, pair->first.site, &inst.place);

	if (!r && pair->distance) {
		r = find_place(k, s, pair->other.site, &inst.other_place);
		inst.distance = pair->distance;
		inst.cycles = pair->cycles < UINT32_MAX ? (uint32_t)pair->cycles : UINT32_MAX;
		inst.other = pair->other.record;
		/* The same in both, and there are not too many values. */
		inst.other.fields &= ~(1u << INST_HISTORY | 1u << INST_PAGE | 1u << INST_LINE);
	}
	if (!r)
		r = harvest_sample(k->harvest, k->event, k->subject, inst.place, 1);
	if (!r)
		r = harvest_inst(k->harvest, &inst);
	k->too_many += r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

/* What of the truth is kept, in the order of reports. */
struct column {
	char name[48];
	unsigned event; /* of the record; or one of these */
	uint32_t number;
};
enum { COLUMN_CYCLES = INST_EVENT_COUNT, COLUMN_FETCHED, COLUMN_PROGRESS, COLUMN_WASTED };

static uint64_t value_of(const struct sim_truth_row *row, const struct column *c, double scale,
			 unsigned width)
{
	double value;

	switch (c->event) {
	case COLUMN_CYCLES:
		value = (double)row->head_cycles;
		break;
	case COLUMN_FETCHED:
		value = (double)row->fetched;
		break;
	case COLUMN_PROGRESS:
		value = (double)row->progress_cycles;
		break;
	case COLUMN_WASTED:
		value = (double)width * (double)row->progress_cycles - (double)row->useful;
		break;
	default:
		value = (double)row->events[c->event];
	}
	return value > 0 ? (uint64_t)llround(value * scale) : 0;
}

static int begin_columns(struct sim_keep *k, struct column *list, size_t *ret_count)
{
	static const struct {
		const char *name;
		unsigned event;
	} kept[] = {{"cycles", COLUMN_CYCLES},
		    {"fetched", COLUMN_FETCHED},
		    {"retired", INST_RETIRED},
		    {"aborted", INST_ABORTED},
		    {"icache-misses", INST_ICACHE_MISS},
		    {"itlb-misses", INST_ITLB_MISS},
		    {"dcache-misses", INST_DCACHE_MISS},
		    {"l2-misses", INST_L2_MISS},
		    {"l3-misses", INST_L3_MISS},
		    {"dtlb-misses", INST_DTLB_MISS},
		    {"dtlb-walks", INST_DTLB_WALK},
		    {"store-forwards", INST_FORWARDED},
		    {"taken", INST_TAKEN},
		    {"mispredicted", INST_MISPREDICTED},
		    {"progress-cycles", COLUMN_PROGRESS},
		    {"wasted-slots", COLUMN_WASTED}};
	int r = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && !r; i++) {
		snprintf(list[i].name, sizeof(list[i].name), "sim-%s", kept[i].name);
		list[i].event = kept[i].event;
		r = add_event(k, list[i].name, &list[i].number);
	}
	*ret_count = sizeof(kept) / sizeof(*kept);
	return r;
}

static int add_truth(struct sim_keep *k, const struct sim *s, double scale, unsigned width)
{
	const struct sim_truth *t = sim_read_truth(s);
	struct column columns[32];
	uint64_t sums[32] = {0};
	size_t count;
	uint32_t place;
	int r = begin_columns(k, columns, &count);

	for (size_t i = 0; i < t->row_count && !r; i++) {
		if (!t->rows[i].fetched)
			continue;
		r = find_place(k, s, (uint32_t)i, &place);
		for (size_t c = 0; c < count && !r; c++) {
			uint64_t value = value_of(&t->rows[i], &columns[c], scale, width);

			sums[c] += value;
			if (value)
				r = harvest_sample(k->harvest, columns[c].number, k->subject, place,
						   value);
		}
	}
	for (size_t c = 0; c < count && !r; c++)
		harvest_count(k->harvest, columns[c].number, "samples", sums[c]);
	return r;
}

static void add_facts(struct sim_keep *k, const struct sim_result *result, const char *core)
{
	const struct sim_core_counters *c = &result->total;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	harvest_fact(k->harvest, "hostname", host, strlen(host));
	harvest_fact(k->harvest, "sim.core", core, strlen(core));
	harvest_count(k->harvest, HARVEST_NONE, "sim.instructions", c->instructions);
	harvest_count(k->harvest, HARVEST_NONE, "sim.observed", c->observed);
	harvest_count(k->harvest, HARVEST_NONE, "sim.observed_cycles", c->cycles);
	harvest_count(k->harvest, HARVEST_NONE, "sim.execs_not_followed", result->trace.execs);
	harvest_count(k->harvest, HARVEST_NONE, "sim.threads_refused",
		      result->trace.threads_refused);
	harvest_count(k->harvest, HARVEST_NONE, "sim.trace_damaged", result->trace.damaged);
	harvest_count(k->harvest, HARVEST_NONE, "sim.blocks_unknown", c->blocks_unknown);
	harvest_count(k->harvest, k->event, "instsamples.too_many", k->too_many);
}

int sim_keep_end(struct sim_keep *k, const struct sim *s, const struct sim_result *result,
		 double period, double scale, unsigned width, const char *core,
		 const struct import_target *target, struct import_result *ret, struct diag *diag)
{
	struct buf bytes;
	int r = add_truth(k, s, scale, width);

	if (r)
		return diag_fail(diag, -r, "cannot keep what was simulated: %s", strerror(-r));
	harvest_event_set(k->harvest, k->event, (uint64_t)llround(period > 1 ? period : 1), FLAGS);
	harvest_interval(k->harvest, k->start_ns, clock_wall_ns());
	add_facts(k, result, core);
	buf_init(&bytes, BYTES_MAX);
	harvest_save(k->harvest, &bytes);
	r = bytes.error ? diag_fail(diag, -bytes.error, "cannot keep what was simulated: %s",
				    strerror(-bytes.error))
			: import_store(target, bytes.data, bytes.size, ret, diag);
	buf_free(&bytes);
	return r;
}

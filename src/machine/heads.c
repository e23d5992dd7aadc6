/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Loops and paths at steady state. A list is simulated in rounds; rounds are grouped in chunks, and
 * when two chunks in a row take the same time, the second is the answer: most loops repeat within
 * some rounds, those that never quite do are averaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "machine/simulate.h"
#include "util/hash.h"

#define CHUNK_ROUNDS	   12  /* divisible by the usual periods 1, 2, 3, 4, 6 */
#define CHUNK_INSTRUCTIONS 192 /* at least */
#define WARM_INSTRUCTIONS  600 /* fills a reorder buffer */
/* Rounds of a path depend on each other by the core's buffers and ports only: they settle soon. */
#define PATH_ROUNDS	 2
#define PATH_WARM	 300
#define CHUNKS_MAX	 24
#define INSTRUCTIONS_MAX 60000

/*
 * Addresses without values: each general register holds an unknown number (its version) plus a
 * known constant. Two accesses with the same versions and constants touch the same bytes, so a load
 * finds the store before it; accesses through different unknowns are taken to be apart.
 */
struct symbolic {
	struct {
		uint32_t version;
		int64_t offset;
	} registers[16];
	uint32_t versions;
};

/* All registers unknown, and different from all that were before. */
static void symbolic_reset(struct symbolic *s)
{
	for (unsigned i = 0; i < 16; i++) {
		s->registers[i].version = ++s->versions;
		s->registers[i].offset = 0;
	}
}

/* One of 2^44 places for each unknown, 1 MB of constants around each. */
static uint64_t place(uint64_t version, uint64_t salt)
{
	return version ? hash_u64(version * 4 + salt) << 20 : 0;
}

static uint64_t address_of(const struct symbolic *s, const struct machine_instruction *in)
{
	uint64_t address = (uint64_t)in->memory_value;

	if (in->base < 16)
		address += place(s->registers[in->base].version, 0) +
			   (uint64_t)s->registers[in->base].offset;
	if (in->index < 16)
		address += place(s->registers[in->index].version, 1) * in->scale +
			   (uint64_t)s->registers[in->index].offset * in->scale;
	if (in->index != ISA_REG_NONE && in->index >= 16)
		return UINT64_MAX;
	return address == UINT64_MAX ? 0 : address;
}

/* Fills in the addresses of an execution and goes past the instruction. */
static void symbolic_step(struct symbolic *s, const struct machine_instruction *in,
			  struct machine_execution *ret)
{
	uint64_t address = address_of(s, in);

	ret->load_address = in->traits & MACHINE_LOADS ? address : UINT64_MAX;
	ret->store_address = in->traits & MACHINE_STORES ? address : UINT64_MAX;
	if (in->adds_to < 16 && in->adds_from < 16) {
		s->registers[in->adds_to] = s->registers[in->adds_from];
		s->registers[in->adds_to].offset += in->adds;
	}
	for (unsigned i = 0; i < in->write_count; i++) {
		if (in->writes[i] >= 16 || in->writes[i] == in->adds_to)
			continue;
		s->registers[in->writes[i]].version = ++s->versions;
		s->registers[in->writes[i]].offset = 0;
	}
}

struct tally {
	uint64_t cycles;
	uint32_t by_bound[MACHINE_BOUNDS];
	uint64_t cause; /* sequence number of the last blame with a cause, and of the one blamed */
	uint64_t at;
	uint8_t cause_register, port;
};

struct run {
	struct machine_simulator *simulator;
	const struct machine_instruction *list;
	size_t count;
	enum machine_repeat repeat;
	struct symbolic symbols;
	struct tally *tallies;
	uint64_t sequence, retired;
	uint32_t rounds;
};

static void count_head(struct run *r, size_t i, const struct machine_timing *t)
{
	struct tally *a = &r->tallies[i];
	uint64_t head = t->retire - r->retired;

	if (!head)
		return;
	a->cycles += head;
	a->by_bound[t->bound] += (uint32_t)head;
	if (t->cause != MACHINE_NO_CAUSE) {
		a->cause = t->cause;
		a->at = r->sequence;
		a->cause_register = t->cause_register;
	}
	if (t->port != MACHINE_NO_PORT)
		a->port = t->port;
}

static void run_round(struct run *r)
{
	struct machine_execution x;
	struct machine_timing t;

	if (r->repeat == MACHINE_PATH) {
		machine_simulator_cut(r->simulator);
		symbolic_reset(&r->symbols);
	}
	for (size_t i = 0; i < r->count; i++) {
		const struct machine_instruction *in = &r->list[i];

		symbolic_step(&r->symbols, in, &x);
		x.next = r->list[i + 1 < r->count ? i + 1 : 0].address;
		machine_simulator_step(r->simulator, in, &x, &t);
		count_head(r, i, &t);
		r->retired = t.retire;
		r->sequence++;
	}
	r->rounds++;
}

static void clear_tallies(struct run *r)
{
	memset(r->tallies, 0, r->count * sizeof(*r->tallies));
	for (size_t i = 0; i < r->count; i++) {
		r->tallies[i].cause = MACHINE_NO_CAUSE;
		r->tallies[i].port = MACHINE_NO_PORT;
		r->tallies[i].cause_register = ISA_REG_NONE;
	}
}

/* Runs until two chunks are alike; the rounds of the last one, whose tallies are kept. */
static uint32_t run_until_steady(struct run *r, bool *ret_settled)
{
	uint32_t chunk = (uint32_t)((CHUNK_INSTRUCTIONS + r->count - 1) / r->count);
	uint64_t before = 0;
	unsigned period = r->repeat == MACHINE_LOOP ? CHUNK_ROUNDS : PATH_ROUNDS;

	chunk = (chunk + period - 1) / period * period;
	/* Long lists show what they have in fewer rounds. */
	if (r->count > WARM_INSTRUCTIONS)
		chunk = 2;
	clear_tallies(r);
	uint64_t warm = r->repeat == MACHINE_LOOP ? WARM_INSTRUCTIONS : PATH_WARM;
	while ((uint64_t)r->rounds * r->count < warm || r->rounds < 2)
		run_round(r);
	*ret_settled = true;
	for (unsigned i = 0;; i++) {
		uint64_t start = r->retired;

		clear_tallies(r);
		for (uint32_t k = 0; k < chunk; k++)
			run_round(r);
		uint64_t took = r->retired - start;
		if (i && took == before)
			return chunk;
		before = took;
		if (i + 1 == CHUNKS_MAX || (i && r->sequence > INSTRUCTIONS_MAX)) {
			*ret_settled = false;
			return chunk;
		}
	}
}

static unsigned most_frequent(const uint32_t by_bound[MACHINE_BOUNDS])
{
	unsigned best = MACHINE_BOUND_RETIRE;

	for (unsigned i = 0; i < MACHINE_BOUNDS; i++)
		if (by_bound[i] > by_bound[best])
			best = i;
	return best;
}

/* Bounds that are nobody's own: the next instruction to retire just happens to show them. */
static bool is_shared(unsigned bound)
{
	return bound == MACHINE_BOUND_RETIRE || bound == MACHINE_BOUND_ISSUE ||
	       bound == MACHINE_BOUND_FRONT_END || bound == MACHINE_BOUND_LATENCY;
}

static void finish_head(const struct run *r, size_t i, uint32_t rounds, struct machine_head *h)
{
	const struct tally *a = &r->tallies[i];

	*h = (struct machine_head){
		.head_cycles = (double)a->cycles / rounds,
		.slots = machine_simulator_slots(r->simulator, &r->list[i]),
		.bound = (uint8_t)most_frequent(a->by_bound),
		.cause_register = a->cause_register,
		.port = a->port,
		.cause = -1,
	};
	if (a->cause == MACHINE_NO_CAUSE)
		return;
	h->cause = (int32_t)(a->cause % r->count);
	h->cause_distance = (uint32_t)(a->at / r->count - a->cause / r->count);
}

static void finish(const struct run *r, uint32_t rounds, struct machine_head *heads,
		   struct machine_steady *ret)
{
	uint32_t by_bound[MACHINE_BOUNDS] = {0};
	double stalled = 0;

	for (size_t i = 0; i < r->count; i++) {
		finish_head(r, i, rounds, &heads[i]);
		ret->cycles += heads[i].head_cycles;
		ret->slots += heads[i].slots;
		for (unsigned b = 0; b < MACHINE_BOUNDS; b++) {
			by_bound[b] += r->tallies[i].by_bound[b];
			if (!is_shared(b))
				heads[i].stall_cycles += (double)r->tallies[i].by_bound[b] / rounds;
		}
		stalled += heads[i].stall_cycles;
	}
	ret->bound = (uint8_t)most_frequent(by_bound);
	ret->throughput = stalled < ret->cycles / 2;
	ret->rounds = r->rounds;
}

int machine_head_times(struct machine_simulator *s, const struct machine_instruction *list,
		       size_t count, enum machine_repeat repeat, struct machine_head *heads,
		       struct machine_steady *ret_steady)
{
	struct machine_steady steady = {0};
	struct run r = {.simulator = s, .list = list, .count = count, .repeat = repeat};

	if (!count || count > MACHINE_LIST_MAX)
		return -EINVAL;
	r.tallies = malloc(count * sizeof(*r.tallies));
	if (!r.tallies)
		return -ENOMEM;
	machine_simulator_reset(s);
	symbolic_reset(&r.symbols);
	uint32_t rounds = run_until_steady(&r, &steady.settled);
	finish(&r, rounds, heads, &steady);
	free(r.tallies);
	if (ret_steady)
		*ret_steady = steady;
	return 0;
}

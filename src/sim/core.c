/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "isa/operands.h"
#include "util/hash.h"

#define WRONG_MAX    1024 /* instructions of one wrong path */
#define LINE_BYTES   64u
#define NO_ADDRESS   UINT64_MAX
#define HISTORY_BITS 31
#define REPEAT_BYTES 32 /* that an iteration of a repeated instruction moves, together */

enum phase { PHASE_WARM, PHASE_BEFORE, PHASE_DETAIL };

/* What happened to the instruction that is being stepped. */
struct happening {
	uint32_t code_met, data_met;
	uint32_t translation_cycles;
	bool mispredicted, taken;
};

struct sim_core {
	const struct sim_config *config;
	struct machine_model *model;
	struct machine_simulator *simulator;
	struct memory memory;
	struct predictor predictor;
	struct sim_code *code;
	struct sim_truth *truth;
	struct sim_flight *flight;
	struct sim_schedule schedule;
	struct sim_sampler sampler;
	struct sim_core_counters counters;
	uint32_t thread;
	uint64_t key;

	enum phase phase;
	uint64_t left;	  /* instructions of the phase */
	uint64_t base;	  /* added to the simulator's cycles: they begin anew with each window */
	uint64_t retired; /* cycle of the last one that did, the simulator's */
	uint64_t observed_from;
	uint64_t code_line; /* of warming */
	uint64_t repeated;  /* address of the repeated instruction that ran last; where it was */
	uint64_t repeated_at;
	uint32_t site; /* of the instruction that is being stepped */
	struct happening now;
};

static unsigned plug_load(void *arg, const struct machine_instruction *in, uint64_t address,
			  uint64_t cycle)
{
	struct sim_core *c = arg;
	struct memory_access a;
	uint64_t at = c->base + cycle;

	(void)in;
	if (address == NO_ADDRESS)
		return 0;
	memory_data(&c->memory, address, c->site, at, &a);
	c->now.data_met |= a.met;
	c->now.translation_cycles += a.translation_cycles;
	if (a.ready <= at)
		return 0;
	return (unsigned)(a.ready - at) + (a.met & MEMORY_L1_MISS ? 0 : c->config->core.l1_cycles);
}

static uint64_t plug_store(void *arg, const struct machine_instruction *in, uint64_t address,
			   uint64_t cycle)
{
	struct sim_core *c = arg;
	struct memory_access a;

	(void)in;
	memory_data(&c->memory, address, c->site, c->base + cycle, &a);
	c->now.data_met |= a.met;
	c->now.translation_cycles += a.translation_cycles;
	return a.ready > c->base ? a.ready - c->base : 0;
}

static unsigned plug_fetch(void *arg, uint64_t address, uint64_t cycle)
{
	struct sim_core *c = arg;
	struct memory_access a;

	memory_code(&c->memory, address, c->base + cycle, &a);
	c->now.code_met |= a.met;
	return a.ready > c->base + cycle ? (unsigned)(a.ready - c->base - cycle) : 0;
}

static bool plug_mispredicts(void *arg, const struct machine_instruction *in, uint64_t next)
{
	const struct sim_core *c = arg;

	(void)in, (void)next;
	return c->now.mispredicted;
}

int sim_core_new(const struct sim_config *config, struct machine_model *model,
		 struct memory_shared *shared, struct sim_code *code, struct sim_truth *truth,
		 const struct sim_schedule *schedule, const struct sim_sampler *sampler,
		 struct sim_core **ret)
{
	struct sim_core *c = calloc(1, sizeof(*c));
	const struct machine_plugins plugins = {.arg = c,
						.load = plug_load,
						.store = plug_store,
						.fetch = plug_fetch,
						.mispredicts = plug_mispredicts};

	if (!c)
		return -ENOMEM;
	c->config = config;
	c->model = model;
	c->code = code;
	c->truth = truth;
	c->schedule = *schedule;
	c->sampler = *sampler;
	c->flight = calloc(1, sizeof(*c->flight));
	if (!c->flight || machine_simulator_new(model, &plugins, &c->simulator) ||
	    memory_init(&c->memory, config, shared) ||
	    predictor_init(&c->predictor, config->predictor_kentries)) {
		sim_core_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void sim_core_free(struct sim_core *c)
{
	if (!c)
		return;
	machine_simulator_free(c->simulator);
	memory_free(&c->memory);
	predictor_free(&c->predictor);
	free(c->flight);
	free(c);
}

const struct sim_core_counters *sim_core_read(const struct sim_core *c)
{
	return &c->counters;
}

/* The pipeline is empty, and time goes on. */
static void drain(struct sim_core *c)
{
	if (c->phase == PHASE_DETAIL)
		c->counters.cycles += c->retired - c->observed_from;
	c->base += c->retired;
	c->retired = c->observed_from = 0;
	sim_truth_end(c->truth, c->flight);
	sim_sampler_drop(&c->sampler);
	machine_simulator_reset(c->simulator);
}

static void enter(struct sim_core *c, enum phase phase)
{
	const struct sim_schedule *s = &c->schedule;

	if (phase == PHASE_WARM)
		drain(c);
	c->phase = phase;
	c->memory.timed = phase != PHASE_WARM;
	c->code_line = NO_ADDRESS;
	c->left = phase == PHASE_BEFORE	  ? s->before
		  : phase == PHASE_DETAIL ? s->window
		  : s->every * s->window > s->window + s->before
			  ? s->every * s->window - s->window - s->before
			  : 1;
	if (phase == PHASE_DETAIL)
		c->observed_from = c->retired;
}

/* The next phase, once the instructions of this one are over. */
static void pass_phase(struct sim_core *c, uint64_t instructions)
{
	if (c->left > instructions) {
		c->left -= instructions;
		return;
	}
	if (c->phase == PHASE_DETAIL && c->schedule.every == 1)
		c->left = c->schedule.window;
	else
		enter(c, c->phase == PHASE_WARM	    ? PHASE_BEFORE
			 : c->phase == PHASE_BEFORE ? PHASE_DETAIL
						    : PHASE_WARM);
}

void sim_core_begin(struct sim_core *c, uint32_t thread, uint64_t key)
{
	c->thread = thread;
	c->key = key;
	c->repeated = NO_ADDRESS;
	c->predictor.history = (struct predict_history){.top = 0};
	if (c->schedule.every == 1) {
		enter(c, PHASE_DETAIL);
		return;
	}
	/* A window that began with each program would tell of how programs begin. */
	enter(c, PHASE_WARM);
	c->left = 1 + hash_u64(c->sampler.random ^ c->counters.instructions) %
			      (c->schedule.every * c->schedule.window);
}

void sim_core_end(struct sim_core *c)
{
	drain(c);
	c->phase = PHASE_WARM;
}

static uint64_t end_of(const struct sim_op *op)
{
	return op->in.address + op->in.size;
}

/* Teaches the predictor what a branch did. ret_said: where it was thought to go, 0: nobody knew.
 * True: it went elsewhere. The history has what it did. */
static bool resolve(struct sim_core *c, const struct sim_op *op, uint64_t next, uint64_t *ret_said)
{
	struct predictor *p = &c->predictor;
	uint64_t pc = op->in.address, end = end_of(op);
	bool taken = next != end;

	*ret_said = next;
	switch (op->branch) {
	case ISA_BRANCH_CONDITIONAL:
		*ret_said = predictor_learn(p, pc, taken) ? op->target : end;
		predictor_push_direction(p, taken);
		break;
	case ISA_BRANCH_RETURN:
		*ret_said = predictor_return(p);
		break;
	case ISA_BRANCH_CALL:
	case ISA_BRANCH_JUMP:
		if (op->branch == ISA_BRANCH_CALL)
			predictor_push_call(p, end);
		if (op->target != ISA_NO_ADDRESS)
			break;
		*ret_said = predictor_learn_target(p, pc, next);
		predictor_push_target(p, next);
		break;
	default:
		break;
	}
	return *ret_said != next;
}

/* Where fetch goes on after a branch of the wrong path; 0: it knows nothing. */
static uint64_t guess(struct sim_core *c, const struct sim_op *op)
{
	struct predictor *p = &c->predictor;
	uint64_t pc = op->in.address, end = end_of(op);
	bool taken;

	switch (op->branch) {
	case ISA_BRANCH_NONE:
		return end;
	case ISA_BRANCH_CONDITIONAL:
		taken = predictor_direction(p, pc);
		predictor_push_direction(p, taken);
		return taken ? op->target : end;
	case ISA_BRANCH_RETURN:
		return predictor_return(p);
	case ISA_BRANCH_CALL:
		predictor_push_call(p, end);
		/* fall through */
	case ISA_BRANCH_JUMP:
		return op->target != ISA_NO_ADDRESS ? op->target : predictor_target(p, pc);
	default:
		return 0;
	}
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void set_code_events(const struct happening *h, struct inst_record *r)
{
	inst_set_event(r, INST_ICACHE_MISS, h->code_met & MEMORY_L1_MISS);
	inst_set_event(r, INST_ICACHE_L2_MISS, h->code_met & MEMORY_L2_MISS);
	inst_set_event(r, INST_ICACHE_L3_MISS, h->code_met & MEMORY_L3_MISS);
	inst_set_event(r, INST_ITLB_MISS, h->code_met & MEMORY_TLB_MISS);
	inst_set_event(r, INST_ITLB_WALK, h->code_met & MEMORY_TLB_WALK);
}

static void set_data_events(const struct happening *h, const struct sim_op *op, uint64_t address,
			    bool forwarded, struct inst_record *r)
{
	inst_set_event(r, INST_DCACHE_MISS, h->data_met & MEMORY_L1_MISS);
	inst_set_event(r, INST_L2_MISS, h->data_met & MEMORY_L2_MISS);
	inst_set_event(r, INST_L3_MISS, h->data_met & MEMORY_L3_MISS);
	inst_set_event(r, INST_DTLB_MISS, h->data_met & MEMORY_TLB_MISS);
	inst_set_event(r, INST_DTLB_WALK, h->data_met & MEMORY_TLB_WALK);
	inst_set_event(r, INST_FILL_BUFFER, h->data_met & MEMORY_ON_ITS_WAY);
	inst_set_event(r, INST_FORWARDED, forwarded);
	inst_set_event(r, INST_MISALIGNED, address % LINE_BYTES + op->in.memory_bytes > LINE_BYTES);
}

static void set_kind_events(const struct happening *h, const struct sim_op *op,
			    struct inst_record *r)
{
	uint16_t traits = op->in.traits;

	inst_set_event(r, INST_LOAD, traits & MACHINE_LOADS);
	inst_set_event(r, INST_STORE, traits & MACHINE_STORES);
	inst_set_event(r, INST_PREFETCH, traits & MACHINE_PREFETCH);
	inst_set_event(r, INST_LOCKED, traits & MACHINE_LOCKED);
	inst_set_event(r, INST_BRANCH, op->branch != ISA_BRANCH_NONE);
	if (op->branch == ISA_BRANCH_NONE)
		return;
	inst_set_event(r, INST_TAKEN, h->taken);
	inst_set_event(r, INST_MISPREDICTED, h->mispredicted);
	inst_set_event(r, INST_RETURN, op->branch == ISA_BRANCH_RETURN);
}

/* What an instruction went through. squash: the cycle in which it is thrown away, or 0. */
static void make_events(const struct sim_core *c, const struct sim_op *op,
			const struct machine_execution *x, const struct machine_timing *t,
			uint64_t squash, struct inst_record *r)
{
	uint64_t address = x->load_address != NO_ADDRESS ? x->load_address : x->store_address;

	inst_begin(r, INST_MODEL);
	inst_set_event(r, INST_RETIRED, !squash);
	inst_set_event(r, INST_ABORTED, squash);
	inst_set_event(r, INST_ABORT_BRANCH, squash);
	set_code_events(&c->now, r);
	set_kind_events(&c->now, op, r);
	if (address != NO_ADDRESS)
		set_data_events(&c->now, op, address, t->forwarded, r);
}

/* The history as of its fetch: above the oldest branch a bit that is set. */
static uint32_t history_of(const struct sim_core *c)
{
	return (uint32_t)(c->predictor.history.directions & ((1u << HISTORY_BITS) - 1)) |
	       1u << HISTORY_BITS;
}

static void set_stages(const struct machine_timing *t, uint64_t last_retired, uint64_t squash,
		       struct inst_record *r)
{
	const uint64_t at[] = {t->fetch, t->issue, t->ready, t->start, t->complete, t->retire};
	static const enum inst_field fields[] = {
		INST_CYCLES_FETCH_DISPATCH, INST_CYCLES_DISPATCH_READY, INST_CYCLES_READY_ISSUE,
		INST_CYCLES_ISSUE_DONE, INST_CYCLES_DONE_RETIRE};
	uint64_t last = at[0];

	for (unsigned i = 1; i < sizeof(at) / sizeof(*at); i++) {
		uint64_t next = later(at[i], last);

		if (squash && next >= squash) { /* it never came there */
			inst_set(r, fields[i - 1], squash > last ? squash - last : 0);
			return;
		}
		inst_set(r, fields[i - 1], next - last);
		last = next;
	}
	inst_set(r, INST_CYCLES_RETIRE_GAP, last > last_retired ? last - last_retired : 0);
}

static void take_sample(struct sim_core *c, const struct sim_op *op, uint32_t history,
			const struct machine_execution *x, const struct machine_timing *t,
			uint64_t squash, struct sim_half *half)
{
	uint64_t address = x->load_address != NO_ADDRESS ? x->load_address : x->store_address;
	struct inst_record *r = &half->record;

	half->site = op->site;
	half->thread = c->thread;
	half->fetch = t->fetch;
	set_stages(t, c->retired, squash, r);
	inst_set(r, INST_HISTORY, history);
	if (address != NO_ADDRESS) {
		inst_set_address(r, c->key, address);
		inst_set(r, INST_CYCLES_DTLB, c->now.translation_cycles);
	}
	if (x->load_address != NO_ADDRESS && t->complete > t->start)
		inst_set(r, INST_CYCLES_LOAD_DATA, t->complete - t->start);
	sim_sampler_take(&c->sampler, half);
}

/* Tells the truth, and the sampler, of one that was stepped. */
static void observe(struct sim_core *c, const struct sim_op *op, uint32_t history,
		    const struct machine_execution *x, const struct machine_timing *t,
		    uint64_t squash)
{
	uint64_t issue = later(t->issue, t->fetch), done = later(t->complete, issue);
	struct sim_half half;

	if (c->phase != PHASE_DETAIL)
		return;
	c->counters.fetched++;
	c->counters.aborted += squash != 0;
	make_events(c, op, x, t, squash, &half.record);
	if (squash) {
		done = done < squash ? done : squash;
		issue = issue < done ? issue : done;
	}
	const struct sim_passage p = {
		.site = op->site,
		.events = half.record.events,
		.retired = !squash,
		.fetch = t->fetch < issue ? t->fetch : issue,
		.issue = issue,
		.done = done,
		.head_cycles = !squash && t->retire > c->retired ? t->retire - c->retired : 0,
	};
	sim_truth_add(c->truth, c->flight, &p);
	if (sim_sampler_chooses(&c->sampler))
		take_sample(c, op, history, x, t, squash, &half);
}

/* What fetch takes for the program until a mispredicted branch is resolved. */
static void run_wrong_path(struct sim_core *c, uint64_t from, uint64_t squash)
{
	struct predict_history after = c->predictor.history;
	const struct sim_block *b = sim_code_at(c->code, from);
	struct machine_timing t;
	unsigned steps = 0;

	machine_simulator_speculate(c->simulator, squash);
	while (b) {
		uint64_t next = 0;

		for (uint32_t i = 0; i < b->count; i++) {
			const struct sim_op *op = &b->ops[i];
			uint32_t history = history_of(c);
			struct machine_execution x = {NO_ADDRESS, NO_ADDRESS, 0};

			if (steps++ == WRONG_MAX || !machine_simulator_may_speculate(c->simulator))
				goto out;
			c->now = (struct happening){.code_met = 0};
			c->site = op->site;
			next = x.next = guess(c, op);
			c->now.taken = next != end_of(op);
			machine_simulator_step(c->simulator, &op->in, &x, &t);
			if (t.fetch >= squash)
				goto out;
			observe(c, op, history, &x, &t, squash);
		}
		b = next ? sim_code_at(c->code, next) : NULL;
	}
out:
	machine_simulator_squash(c->simulator);
	c->predictor.history = after;
}

/* The history of the wrong path: as if the branch had gone where it was thought to. */
static void mislead(struct sim_core *c, const struct sim_op *op,
		    const struct predict_history *before, uint64_t said)
{
	struct predictor *p = &c->predictor;

	p->history = *before;
	if (op->branch == ISA_BRANCH_CONDITIONAL)
		predictor_push_direction(p, said != end_of(op));
	else if (op->branch == ISA_BRANCH_CALL)
		predictor_push_call(p, end_of(op));
	else if (op->branch == ISA_BRANCH_RETURN)
		predictor_return(p);
}

static void step(struct sim_core *c, const struct sim_op *op, const struct machine_execution *x)
{
	struct machine_timing t;
	uint32_t history = history_of(c);
	uint64_t said = 0;
	bool branches = op->branch != ISA_BRANCH_NONE && x->next;
	struct predict_history before;

	c->now = (struct happening){.code_met = 0};
	c->site = op->site;
	if (branches) {
		before = c->predictor.history;
		c->now.taken = x->next != end_of(op);
		c->now.mispredicted = resolve(c, op, x->next, &said);
		c->counters.branches++;
		c->counters.mispredicted += c->now.mispredicted;
	}
	bool missed = c->now.mispredicted;
	machine_simulator_step(c->simulator, &op->in, x, &t);
	observe(c, op, history, x, &t, 0);
	c->retired = later(c->retired, t.retire);
	if (!missed || !said)
		return;
	struct predict_history after = c->predictor.history;
	mislead(c, op, &before, said);
	run_wrong_path(c, said, t.complete);
	c->predictor.history = after;
}

/* Addresses of an instruction's accesses: the first of each kind; the others only touch caches. */
static size_t take_accesses(struct sim_core *c, const struct sim_op *op, uint32_t index,
			    const struct sim_run *run, size_t at, struct machine_execution *x)
{
	uint64_t mask = (UINT64_C(1) << WIRE_ADDRESS_BITS) - 1;

	x->load_address = x->store_address = NO_ADDRESS;
	for (; at < run->access_count; at++) {
		uint64_t word = run->accesses[at], address = word & mask;
		bool store = word >> WIRE_STORE_SHIFT & 1;
		uint64_t *first = store ? &x->store_address : &x->load_address;
		struct memory_access a;

		if ((word >> WIRE_INDEX_SHIFT & (WIRE_BLOCK_MAX - 1)) != index)
			break;
		if (*first == NO_ADDRESS)
			*first = address;
		else if (address / LINE_BYTES != *first / LINE_BYTES)
			memory_data(&c->memory, address, op->site, c->base + c->retired, &a);
	}
	if (!(op->in.traits & MACHINE_LOADS))
		x->load_address = NO_ADDRESS;
	if (!(op->in.traits & MACHINE_STORES))
		x->store_address = NO_ADDRESS;
	return at;
}

/* An iteration of a repeated instruction that is part of what one before it moved. */
static bool repeats(struct sim_core *c, const struct sim_op *op, const struct machine_execution *x)
{
	uint64_t at = x->store_address != NO_ADDRESS ? x->store_address : x->load_address;
	bool again =
		op->repeats && c->repeated == op->in.address && at / REPEAT_BYTES == c->repeated_at;

	c->repeated = op->repeats ? op->in.address : NO_ADDRESS;
	c->repeated_at = at / REPEAT_BYTES;
	return again;
}

static uint64_t run_detail(struct sim_core *c, const struct sim_block *b, const struct sim_run *run,
			   uint64_t next)
{
	uint64_t count = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct sim_op *op = &b->ops[i];
		struct machine_execution x;

		x.next = i + 1 < b->count ? end_of(op) : next;
		at = take_accesses(c, op, i, run, at, &x);
		if (repeats(c, op, &x))
			continue;
		/* Only branches go anywhere. */
		if (op->branch == ISA_BRANCH_NONE)
			x.next = end_of(op);
		step(c, op, &x);
		count++;
	}
	return count;
}

static uint64_t run_warm(struct sim_core *c, const struct sim_block *b, const struct sim_run *run,
			 uint64_t next)
{
	const struct sim_op *last = &b->ops[b->count - 1];
	uint64_t mask = (UINT64_C(1) << WIRE_ADDRESS_BITS) - 1, said;
	struct memory_access a;

	for (uint64_t line = b->address / LINE_BYTES; line <= (b->end - 1) / LINE_BYTES; line++) {
		if (line != c->code_line)
			memory_code(&c->memory, line * LINE_BYTES, 0, &a);
		c->code_line = line;
	}
	for (size_t i = 0; i < run->access_count; i++) {
		uint64_t word = run->accesses[i];
		uint32_t index = word >> WIRE_INDEX_SHIFT & (WIRE_BLOCK_MAX - 1);

		memory_data(&c->memory, word & mask, index < b->count ? b->ops[index].site : 0, 0,
			    &a);
	}
	if (last->branch != ISA_BRANCH_NONE && next) {
		c->counters.branches++;
		c->counters.mispredicted += resolve(c, last, next, &said);
	}
	if (last->repeats && c->repeated == last->in.address && b->count == 1)
		return 0;
	c->repeated = last->repeats ? last->in.address : NO_ADDRESS;
	return b->count;
}

void sim_core_run(struct sim_core *c, const struct sim_run *run)
{
	const struct sim_block *b = sim_code_block(c->code, run->block), *after;
	uint64_t next, count;

	if (!b) {
		c->counters.blocks_unknown++;
		return;
	}
	after = run->next ? sim_code_block(c->code, run->next) : NULL;
	next = after ? after->address : 0;
	count = c->phase == PHASE_WARM ? run_warm(c, b, run, next) : run_detail(c, b, run, next);
	c->counters.instructions += count;
	*(c->phase == PHASE_WARM     ? &c->counters.warmed
	  : c->phase == PHASE_BEFORE ? &c->counters.unobserved
				     : &c->counters.observed) += count;
	pass_phase(c, count);
}

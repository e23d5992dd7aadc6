/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * One pass in program order. Each stage of the core is a few counters, which say the first cycle in
 * which the stage can take the next operation:
 *
 *   fetch    cache of decoded operations or legacy decoders; a taken branch ends a group; runs at
 *            most QUEUE instructions ahead of issue
 *   issue    width, a free entry of the reorder buffer, scheduler, load and store buffer
 *   execute  inputs, then ports (ports.c); loads ask the plug-in and the store table
 *   retire   in order, width
 *
 * Every wait replaces the blame; what is left when an instruction retires is the last thing that it
 * waited for.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "machine/model.h"
#include "machine/ports.h"
#include "machine/simulate.h"

#define QUEUE	     64	  /* instructions between fetch and issue */
#define REORDER_MAX  1024 /* entries, over any core's */
#define BUFFER_MAX   512
#define STORES_KNOWN 2048 /* words of memory whose last stores are remembered for forwarding */
#define WORD_BYTES   4	  /* neighbours of that size are apart: halves of what is loaded as one */
#define WINDOWS	     2048 /* of the cache of decoded operations, 64 bytes each */
#define LINE_BYTES   64
#define UPDATES_TURN 4 /* every so manieth update of the same bytes takes a cycle more */
#define UNKNOWN	     UINT64_MAX

struct blame {
	uint8_t bound, reg, port;
	uint64_t cause;
};

struct result {
	uint64_t ready, sequence;
	uint8_t chained; /* of the cost of what made it */
	uint8_t domain;	 /* of vector registers, where what made it did */
	bool summed;	 /* renaming added a constant */
};

struct store {
	uint64_t address, sequence, commit;
	uint64_t source, data; /* what it stores was ready, and was in the store buffer */
	uint8_t updates; /* what it stores is what it loaded and a register: for the how manieth
			    time, from 1 to UPDATES_TURN and again; 0: it is not */
	uint8_t bytes;
	bool general; /* of a general register, or a constant */
};

/* What the wrong path leaves as it was: every counter, and the registers' last writers, without
 * which instructions after the branch would wait for what never ran. */
struct checkpoint {
	uint64_t sequence;
	struct result registers[MACHINE_REG_COUNT];
	uint64_t fetch_cycle, fetch_floor, fetch_line, fetch_next;
	int fetch_room, fetch_bytes, fetch_cells;
	bool decoding;
	struct blame fetch_blame;
	uint64_t queue[QUEUE], queued;
	uint64_t issue_cycle, issue_floor, issue_cause;
	unsigned issue_room;
	uint64_t slots, load_count, store_count;
	uint64_t memory_floor, memory_cause;
	uint64_t commit, commit_line, locked_commit;
	unsigned commit_room;
	uint64_t renamed, retire_cycle, last_complete;
	unsigned retire_room;
};

struct machine_simulator {
	const struct machine_model *model;
	const struct machine_core *core;
	struct machine_plugins plugins;
	struct machine_use fused;  /* of a pair that runs as one operation */
	struct checkpoint *before; /* the wrong path; squash: 0 on the right one */

	uint64_t sequence, squash;
	struct result registers[MACHINE_REG_COUNT];

	uint64_t fetch_cycle, fetch_floor, fetch_line, fetch_next;
	int fetch_room, fetch_bytes, fetch_cells;
	bool decoding;
	struct blame fetch_blame;
	uint64_t windows[WINDOWS];
	uint64_t queue[QUEUE], queued;

	uint64_t issue_cycle, issue_floor, issue_cause;
	unsigned issue_room;

	uint64_t reorder[REORDER_MAX], slots;
	uint64_t loads[BUFFER_MAX], load_count;
	uint64_t stores[BUFFER_MAX], store_count;
	struct ports ports;

	uint64_t memory_floor, memory_cause; /* after a fence or a locked operation */
	uint64_t commit;		     /* cycle of the last store's */
	uint64_t commit_line;		     /* that it went to */
	uint64_t locked_commit;		     /* of the last locked operation's */
	unsigned commit_room;
	struct store known[STORES_KNOWN];
	uint64_t renamed; /* cycle of the last load's that a store was renamed for */

	uint64_t retire_cycle, last_complete;
	unsigned retire_room;
};

int machine_simulator_new(const struct machine_model *model, const struct machine_plugins *plugins,
			  struct machine_simulator **ret)
{
	struct machine_simulator *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->before = malloc(sizeof(*s->before));
	if (!s->before) {
		free(s);
		return -ENOMEM;
	}
	s->model = model;
	s->core = machine_model_core(model);
	s->plugins = plugins ? *plugins : (struct machine_plugins){0};
	s->fused = (struct machine_use){
		machine_translate_ports(model, s->core->work[MACHINE_WORK_BRANCH].ports), 1, 1};
	machine_simulator_reset(s);
	*ret = s;
	return 0;
}

void machine_simulator_free(struct machine_simulator *s)
{
	if (s)
		free(s->before);
	free(s);
}

void machine_simulator_reset(struct machine_simulator *s)
{
	size_t state = offsetof(struct machine_simulator, sequence);

	memset((char *)s + state, 0, sizeof(*s) - state);
	memset(s->windows, 0xff, sizeof(s->windows));
	for (unsigned i = 0; i < MACHINE_REG_COUNT; i++)
		s->registers[i].sequence = MACHINE_NO_CAUSE;
	for (unsigned i = 0; i < STORES_KNOWN; i++)
		s->known[i].address = UNKNOWN;
	s->fetch_line = UNKNOWN;
	s->ports.bound = s->core->binds_ports;
}

void machine_simulator_cut(struct machine_simulator *s)
{
	for (unsigned i = 0; i < MACHINE_REG_COUNT; i++)
		s->registers[i] = (struct result){.sequence = MACHINE_NO_CAUSE};
}

/* Moves a stage's cycle forward; true when it did. */
static bool wait_for(uint64_t *cycle, uint64_t until)
{
	if (until <= *cycle)
		return false;
	*cycle = until;
	return true;
}

static void blame(struct blame *b, enum machine_bound bound, uint64_t cause)
{
	*b = (struct blame){(uint8_t)bound, ISA_REG_NONE, MACHINE_NO_PORT, cause};
}

static void begin_fetch_group(struct machine_simulator *s, uint64_t cycle)
{
	s->fetch_cycle = cycle;
	s->fetch_room = s->decoding ? s->core->decode_width : s->core->uop_cache_width;
	s->fetch_bytes = s->core->fetch_bytes;
	s->fetch_cells = s->core->uop_cache_cells;
}

static unsigned group_cycles(const struct machine_simulator *s)
{
	return s->decoding || !s->core->uop_cache_cycles ? 1 : s->core->uop_cache_cycles;
}

/* Whether the window of an address is in the cache of decoded operations; it is afterwards. */
static bool probe_window(struct machine_simulator *s, uint64_t address)
{
	/* About eight operations a window. */
	uint64_t *w = &s->windows[(address >> 6) % (s->core->uop_cache_size / 8 % WINDOWS ?: 1)];
	bool hit = *w == address >> 6;

	*w = address >> 6;
	return hit;
}

/* A new line of code: its cache, and that of decoded operations; no group there spans two. */
static void enter_line(struct machine_simulator *s, uint64_t address)
{
	unsigned extra = 0;
	bool jumped = s->fetch_line == UNKNOWN;

	s->fetch_line = address >> 6;
	if (s->plugins.fetch)
		extra = s->plugins.fetch(s->plugins.arg, address, s->fetch_cycle);
	bool decoding = !probe_window(s, address);
	if (decoding == s->decoding && !extra &&
	    (jumped || decoding || s->core->uop_cache_joins_lines))
		return; /* what the group before waited for stays its blame */
	s->decoding = decoding;
	begin_fetch_group(s, s->fetch_cycle + 1 + extra);
	blame(&s->fetch_blame, extra ? MACHINE_BOUND_ICACHE : MACHINE_BOUND_FRONT_END,
	      MACHINE_NO_CAUSE);
}

static uint64_t fetch(struct machine_simulator *s, const struct machine_instruction *in,
		      unsigned slots)
{
	uint64_t queue = s->queue[s->queued % QUEUE];

	if (queue > s->fetch_cycle)
		begin_fetch_group(s, queue);
	if (s->fetch_floor > s->fetch_cycle)
		begin_fetch_group(s, s->fetch_floor); /* after a misprediction: its blame stays */
	if (in->address != s->fetch_next) /* a jump, or the end of a list that is run again */
		s->fetch_line = UNKNOWN;
	s->fetch_next = in->address + in->size;
	if (in->address >> 6 != s->fetch_line)
		enter_line(s, in->address);
	int need = s->decoding ? !(in->traits & MACHINE_FUSED) : (int)slots;
	int cells = s->decoding || !s->core->uop_cache_cells ? 0 : need + in->constants;
	if (s->fetch_room < need || s->fetch_cells < cells ||
	    (s->decoding && s->fetch_bytes < in->size)) {
		begin_fetch_group(s, s->fetch_cycle + group_cycles(s));
		if (s->fetch_blame.bound != MACHINE_BOUND_FRONT_END)
			blame(&s->fetch_blame, MACHINE_BOUND_FRONT_END, MACHINE_NO_CAUSE);
	}
	/* More operations than a group holds: as many whole groups as they need. */
	while (need > s->fetch_room) {
		need -= s->fetch_room;
		begin_fetch_group(s, s->fetch_cycle + group_cycles(s));
	}
	s->fetch_room -= need;
	s->fetch_bytes -= in->size;
	s->fetch_cells -= cells;
	return s->fetch_cycle;
}

/* After it there will be count entries, of which the last size are in flight. */
static void wait_buffer(uint64_t *cycle, struct blame *b, const uint64_t *ring, uint64_t count,
			unsigned room, unsigned size, enum machine_bound bound)
{
	if (count > size && wait_for(cycle, ring[(count - size - 1) % room]))
		blame(b, bound, MACHINE_NO_CAUSE);
}

static unsigned clamp_size(unsigned size, unsigned most)
{
	return size < most ? size : most;
}

static uint64_t issue(struct machine_simulator *s, const struct machine_instruction *in,
		      const struct machine_cost *c, unsigned slots, uint64_t fetched,
		      struct blame *b)
{
	const struct machine_core *core = s->core;
	uint64_t cycle = s->issue_cycle;

	blame(b, MACHINE_BOUND_ISSUE, MACHINE_NO_CAUSE);
	if (s->issue_room < slots || (slots && !s->issue_room))
		cycle++;
	if (wait_for(&cycle, fetched + core->front_end_stages))
		*b = s->fetch_blame;
	if (wait_for(&cycle, s->issue_floor))
		blame(b, MACHINE_BOUND_SERIAL, s->issue_cause);
	if (in->traits & MACHINE_SERIAL && wait_for(&cycle, s->retire_cycle))
		blame(b, MACHINE_BOUND_SERIAL, s->sequence);
	wait_buffer(&cycle, b, s->reorder, s->slots + slots, REORDER_MAX,
		    clamp_size(core->reorder_buffer, REORDER_MAX), MACHINE_BOUND_REORDER);
	if (c->loads)
		wait_buffer(&cycle, b, s->loads, s->load_count + c->loads, BUFFER_MAX,
			    clamp_size(core->load_buffer, BUFFER_MAX), MACHINE_BOUND_LOADS);
	if (c->stores)
		wait_buffer(&cycle, b, s->stores, s->store_count + 1, BUFFER_MAX,
			    clamp_size(core->store_buffer, BUFFER_MAX), MACHINE_BOUND_STORES);
	if (wait_for(&cycle, ports_wait_scheduler(&s->ports, cycle, core->scheduler)))
		blame(b, MACHINE_BOUND_SCHEDULER, MACHINE_NO_CAUSE);
	if (cycle > s->issue_cycle) {
		s->issue_cycle = cycle;
		s->issue_room = core->issue_width;
	}
	/* Longer sequences than the width take several cycles. */
	for (; slots > s->issue_room; slots -= s->issue_room, s->issue_room = core->issue_width)
		s->issue_cycle++;
	s->issue_room -= slots;
	return s->issue_cycle;
}

/* c: of the work that needs the register, so many cycles late; NULL: for an address. */
static void wait_register(const struct machine_simulator *s, unsigned reg, unsigned late,
			  const struct machine_cost *c, uint64_t *cycle, struct blame *b)
{
	const struct result *r = &s->registers[reg];

	uint64_t ready =
		r->ready - (c && c->chained ? r->chained : 0) + (c && r->summed ? c->sum_wait : 0);
	if (c && c->domain && r->domain && c->domain != r->domain)
		ready += s->core->vector_domain_cycles;

	ready -= ready < late ? ready : late;
	if (wait_for(cycle, ready)) {
		blame(b, MACHINE_BOUND_DEPENDENCY, r->sequence);
		b->reg = (uint8_t)reg;
	}
}

static void take_use(struct machine_simulator *s, const struct machine_use *use, uint64_t divider,
		     uint64_t ready, uint64_t *start, struct blame *b)
{
	uint8_t port = MACHINE_NO_PORT;

	if (s->squash && ready >= s->squash)
		return; /* it never begins */
	if (!wait_for(start, ports_take(&s->ports, use, ready, &port)))
		return;
	blame(b, use->ports == divider ? MACHINE_BOUND_DIVIDER : MACHINE_BOUND_PORT,
	      MACHINE_NO_CAUSE);
	b->port = port;
}

static uint64_t take_uses(struct machine_simulator *s, const struct machine_cost *c, unsigned first,
			  unsigned count, uint64_t ready, struct blame *b)
{
	uint64_t start = ready;

	for (unsigned i = first; i < first + count; i++)
		take_use(s, &c->uses[i], c->divider, ready, &start, b);
	return start;
}

/* What is accessed lies in two lines, or two parts of one. */
static bool is_split(const struct machine_instruction *in, uint64_t address, unsigned line_bytes)
{
	return address != UNKNOWN && address % line_bytes + in->memory_bytes > line_bytes;
}

/* How many words an access touches. */
static unsigned count_words(uint64_t address, unsigned bytes)
{
	return (unsigned)((address % WORD_BYTES + bytes + WORD_BYTES - 1) / WORD_BYTES);
}

static struct store *find_store(struct machine_simulator *s, uint64_t address)
{
	return &s->known[hash_u64(address / WORD_BYTES) % STORES_KNOWN];
}

/* The last store to any of the bytes that are loaded; NULL: none is known. */
static const struct store *find_last_store(struct machine_simulator *s, uint64_t address,
					   unsigned bytes)
{
	const struct store *last = NULL;

	for (unsigned i = 0; i < count_words(address, bytes); i++) {
		const struct store *one = find_store(s, address + (uint64_t)i * WORD_BYTES);

		if (one->address != UNKNOWN && one->address < address + bytes &&
		    address < one->address + one->bytes &&
		    (!last || last->sequence < one->sequence))
			last = one;
	}
	return last;
}

/* Whether a load of what a store stored waits for the store's source alone. */
static bool is_renamed(const struct machine_core *core, const struct machine_instruction *in,
		       const struct machine_cost *c, const struct store *from, uint64_t address)
{
	if (!core->renames_memory || (in->traits & MACHINE_VECTOR_LOAD) ||
	    (in->index != ISA_REG_NONE && !core->renames_indexed) ||
	    (core->renames_moves_only && (from->updates || in->memory_bytes < 4)))
		return false;
	return !core->renames_same_places ||
	       (from->general && from->address == address && in->memory_bytes >= 4 &&
		(c->stores || !c->work_uses));
}

/* A load that finds its bytes in a store that has not reached the cache yet. One that finds a part
 * of them waits until the cache has them all. */
static uint64_t forward(struct machine_simulator *s, const struct machine_instruction *in,
			const struct machine_cost *c, uint64_t address, uint64_t start,
			uint64_t data, bool *ret_forwarded, struct blame *b)
{
	const struct machine_core *core = s->core;
	const struct store *from = find_last_store(s, address, in->memory_bytes);

	if (!from)
		return data;
	bool whole = address >= from->address &&
		     address + in->memory_bytes <= from->address + from->bytes;
	unsigned drain = core->store_drain_cycles ?: core->store_forward_cycles;
	uint64_t written = from->commit + (whole ? 0 : drain);
	if (written <= start)
		return data;
	*ret_forwarded = whole;
	bool renamed = whole && is_renamed(core, in, c, from, address);
	uint64_t ready = renamed ? from->source
			 : whole ? from->data + core->store_forward_cycles
				 : written + core->l1_cycles;
	if (whole && (in->traits & MACHINE_VECTOR_LOAD))
		ready += core->vector_forward_extra;
	else if (whole && !renamed && c->work_uses)
		ready += core->work_forward_extra;
	if (whole && from->updates)
		ready += 1 + (from->updates == UPDATES_TURN);
	if (renamed && core->renames_same_places && !c->stores) {
		ready = ready > s->renamed ? ready : s->renamed + 1;
		s->renamed = ready;
	}
	uint64_t least = renamed ? start : data;
	if (ready > least)
		blame(b, MACHINE_BOUND_FORWARD, from->sequence);
	return ready > least ? ready : least;
}

static uint64_t load(struct machine_simulator *s, const struct machine_instruction *in,
		     const struct machine_cost *c, const struct machine_execution *x,
		     uint64_t ready, uint64_t *ret_ready, bool *ret_forwarded, struct blame *b)
{
	const struct machine_core *core = s->core;
	uint64_t address = x ? x->load_address : UNKNOWN;

	if (wait_for(&ready, s->memory_floor))
		blame(b, MACHINE_BOUND_SERIAL, s->memory_cause);
	*ret_ready = ready;
	uint64_t start = take_uses(s, c, 0, c->load_uses, ready, b);
	for (unsigned i = 1; i < core->split_load_uses && is_split(in, address, LINE_BYTES); i++)
		start = take_uses(s, c, 0, c->load_uses, start, b);
	unsigned cycles = core->l1_cycles;
	if (in->index != ISA_REG_NONE &&
	    !(core->plain_index_is_free && in->scale <= 1 && !in->memory_value))
		cycles += core->l1_indexed_extra;
	if (in->traits & MACHINE_VECTOR_LOAD)
		cycles += core->l1_vector_extra;
	unsigned first = cycles;
	if (s->plugins.load)
		cycles = s->plugins.load(s->plugins.arg, in, address, start) ?: first;
	if (cycles > first)
		blame(b, MACHINE_BOUND_MEMORY, MACHINE_NO_CAUSE);
	if (address != UNKNOWN)
		return forward(s, in, c, address, start, start + cycles, ret_forwarded, b);
	return start + cycles;
}

static void remember_store(struct machine_simulator *s, const struct machine_instruction *in,
			   const struct machine_execution *x, uint64_t source, uint64_t data)
{
	if (!x || x->store_address == UNKNOWN)
		return;
	uint64_t address = x->store_address;
	const struct store *old = find_store(s, address);
	bool updates = s->core->renames_moves_only && (in->traits & MACHINE_LOADS) &&
		       in->read_count > in->address_count;
	uint8_t before = old->address == address ? old->updates : 0;
	const struct store new = {
		.address = address,
		.sequence = s->sequence,
		.commit = s->commit,
		.source = source,
		.data = data,
		.updates = updates ? (uint8_t)(before % UPDATES_TURN + 1) : 0,
		.bytes = in->memory_bytes,
		.general = in->read_count == in->address_count ||
			   in->reads[in->read_count - 1] < ISA_REG_VECTOR,
	};

	for (unsigned i = 0; i < count_words(address, in->memory_bytes); i++)
		*find_store(s, address + (uint64_t)i * WORD_BYTES) = new;
}

/* The work proper, from when its inputs are there. A fused pair's is done by the jump's ports, also
 * where renaming would do the arithmetic alone. */
static uint64_t work(struct machine_simulator *s, const struct machine_instruction *in,
		     const struct machine_cost *c, uint64_t inputs, uint64_t *ret_start,
		     struct blame *b)
{
	if (in->traits & MACHINE_FUSES) {
		*ret_start = inputs;
		take_use(s, &s->fused, 0, inputs, ret_start, b);
		return *ret_start + 1;
	}
	*ret_start = take_uses(s, c, c->load_uses, c->work_uses, inputs, b);
	return *ret_start + c->latency;
}

/* What a locked operation or a fence waits for. */
static uint64_t find_barrier(const struct machine_simulator *s,
			     const struct machine_instruction *in)
{
	if (in->traits & MACHINE_LOCKED && s->core->locks_overlap)
		return s->locked_commit;
	return s->retire_cycle > s->commit ? s->retire_cycle : s->commit;
}

/* When an instruction's results are there; t gets when its operands were, and when its first
 * operation began. */
static uint64_t execute(struct machine_simulator *s, const struct machine_instruction *in,
			const struct machine_cost *c, const struct machine_execution *x,
			struct machine_timing *t, uint64_t *ret_stored, struct blame *b)
{
	uint64_t ready = t->issue + 1, inputs, start;

	if (in->traits & (MACHINE_LOCKED | MACHINE_FENCE)) {
		if (wait_for(&ready, find_barrier(s, in)))
			blame(b, MACHINE_BOUND_SERIAL, s->sequence);
	}
	for (unsigned i = 0; i < in->address_count; i++)
		wait_register(s, in->reads[i], 0, NULL, &ready, b);
	inputs = t->start = t->ready = ready;
	if (c->loads)
		inputs = load(s, in, c, x, ready, &t->ready, &t->forwarded, b);
	if (in->traits & MACHINE_PREFETCH)
		inputs = ready;
	for (unsigned i = in->address_count; i < in->read_count; i++)
		wait_register(s, in->reads[i], i == in->address_count + 1u ? c->second_late : 0, c,
			      &inputs, b);
	uint64_t done = work(s, in, c, inputs, &start, b);
	if (!c->loads) {
		t->ready = inputs;
		t->start = start;
	} else {
		t->start = t->ready;
	}
	if (c->latency > 1 && b->bound == MACHINE_BOUND_ISSUE)
		blame(b, MACHINE_BOUND_LATENCY, MACHINE_NO_CAUSE);
	*ret_stored = done;
	if (c->stores)
		*ret_stored =
			take_uses(s, c, c->load_uses + c->work_uses, c->store_uses, done, b) + 1;
	return done;
}

static uint64_t retire(struct machine_simulator *s, unsigned slots, uint64_t complete,
		       struct blame *b)
{
	uint64_t cycle = s->retire_cycle;
	bool full = s->retire_room < slots || (slots && !s->retire_room);

	if (complete > cycle + full) {
		cycle = complete;
	} else if (full) {
		cycle++;
		if (complete < cycle)
			blame(b, MACHINE_BOUND_RETIRE, MACHINE_NO_CAUSE);
	} else {
		blame(b, MACHINE_BOUND_RETIRE, MACHINE_NO_CAUSE);
	}
	if (cycle > s->retire_cycle) {
		s->retire_cycle = cycle;
		s->retire_room = s->core->retire_width;
	}
	for (; slots > s->retire_room;
	     slots -= s->retire_room, s->retire_room = s->core->retire_width)
		s->retire_cycle++;
	s->retire_room -= slots;
	return s->retire_cycle;
}

/* After a branch: the next group of instructions, or a refill. */
static void redirect(struct machine_simulator *s, const struct machine_instruction *in,
		     const struct machine_execution *x, uint64_t complete)
{
	uint64_t next = x ? x->next : 0;
	bool taken = next ? next != in->address + in->size : !(in->traits & MACHINE_CONDITIONAL);

	if (taken) {
		begin_fetch_group(s, s->fetch_cycle + s->core->taken_cycles);
		blame(&s->fetch_blame, MACHINE_BOUND_FRONT_END, MACHINE_NO_CAUSE);
	}
	if (!s->plugins.mispredicts || !s->plugins.mispredicts(s->plugins.arg, in, next))
		return;
	unsigned refill = s->core->mispredict_cycles > s->core->front_end_stages
				  ? s->core->mispredict_cycles - s->core->front_end_stages
				  : 0;
	s->fetch_floor = complete + refill;
	blame(&s->fetch_blame, MACHINE_BOUND_MISPREDICT, s->sequence);
}

static void commit_store(struct machine_simulator *s, const struct machine_instruction *in,
			 uint64_t address, const struct machine_timing *t)
{
	uint64_t line = address / LINE_BYTES, retired = t->retire;
	bool alone = s->core->commits_by_line && line != s->commit_line;

	if (s->commit <= retired || !s->commit_room || alone) {
		s->commit = s->commit <= retired ? retired + 1 : s->commit + 1;
		s->commit_room = s->core->store_commit_width;
	}
	/* Its line is fetched from when its address is known; stores commit in order. */
	if (s->plugins.store && address != UNKNOWN && !s->squash)
		wait_for(&s->commit, s->plugins.store(s->plugins.arg, in, address, t->complete));
	s->commit_room--;
	s->commit_line = line;
	if (s->core->split_store_cycles &&
	    is_split(in, address, s->core->store_bytes ?: LINE_BYTES) &&
	    in->memory_bytes <= (s->core->store_bytes ?: LINE_BYTES)) {
		s->commit += s->core->split_store_cycles - 1u;
		s->commit_room = 0;
	}
}

/* Where the result is: what renaming moves stays where it is. */
static uint8_t result_domain(const struct machine_simulator *s,
			     const struct machine_instruction *in, const struct machine_cost *c)
{
	if (in->traits & MACHINE_ELIMINATED)
		return in->read_count ? s->registers[in->reads[0]].domain : MACHINE_DOMAIN_NONE;
	return c->domain;
}

/* What later instructions see of this one. */
static void publish(struct machine_simulator *s, const struct machine_instruction *in,
		    const struct machine_cost *c, const struct machine_execution *x,
		    const struct machine_timing *t, uint64_t stored)
{
	bool summed = (in->traits & MACHINE_ELIMINATED) && in->adds;

	uint8_t domain = result_domain(s, in, c);

	for (unsigned i = 0; i < in->write_count; i++) {
		bool vector = in->writes[i] >= ISA_REG_VECTOR && in->writes[i] < ISA_REG_MASK;

		s->registers[in->writes[i]] =
			(struct result){t->complete, s->sequence, c->chained,
					vector ? domain : MACHINE_DOMAIN_NONE, summed};
	}
	if (!(in->traits & MACHINE_FUSED) || (in->traits & MACHINE_BRANCH))
		s->queue[s->queued++ % QUEUE] = t->issue;
	for (unsigned i = 0; i < c->slots && !(in->traits & MACHINE_FUSED); i++)
		s->reorder[s->slots++ % REORDER_MAX] = t->retire;
	for (unsigned i = 0; i < c->loads; i++)
		s->loads[s->load_count++ % BUFFER_MAX] = t->retire;
	if (c->stores) {
		commit_store(s, in, x ? x->store_address : UNKNOWN, t);
		s->stores[s->store_count++ % BUFFER_MAX] = s->commit;
		if (in->traits & MACHINE_LOCKED)
			s->locked_commit = s->commit;
		if (!s->squash)
			remember_store(s, in, x, t->complete, stored);
	}
	if (in->traits & MACHINE_FENCE ||
	    (in->traits & MACHINE_LOCKED && !s->core->locks_overlap)) {
		s->memory_floor = t->complete;
		s->memory_cause = s->sequence;
	}
	if (in->traits & MACHINE_SERIAL) {
		s->issue_floor = t->complete;
		s->issue_cause = s->sequence;
	}
}

unsigned machine_simulator_slots(const struct machine_simulator *s,
				 const struct machine_instruction *in)
{
	return in->traits & MACHINE_FUSED ? 0 : machine_cost_of(s->model, in)->slots;
}

void machine_simulator_step(struct machine_simulator *s, const struct machine_instruction *in,
			    const struct machine_execution *x, struct machine_timing *ret)
{
	const struct machine_cost *c = machine_cost_of(s->model, in);
	bool fused = in->traits & MACHINE_FUSED;
	unsigned slots = machine_simulator_slots(s, in);
	struct blame b;
	struct machine_timing t = {.forwarded = false};
	uint64_t stored;

	t.fetch = fetch(s, in, slots);
	t.issue = issue(s, in, c, slots, t.fetch, &b);
	if (fused) {
		t.ready = t.start = t.complete = stored = s->last_complete;
	} else {
		t.complete = execute(s, in, c, x, &t, &stored, &b);
		if (c->load_uses + c->work_uses + c->store_uses)
			ports_enter_scheduler(&s->ports, slots,
					      s->squash && t.start > s->squash ? s->squash
									       : t.start);
	}
	s->last_complete = t.complete;
	t.retire = retire(s, slots, (stored > t.complete ? stored : t.complete) + 1, &b);
	publish(s, in, c, x, &t, stored);
	if ((in->traits & MACHINE_BRANCH) && !s->squash)
		redirect(s, in, x, t.complete);
	else if ((in->traits & MACHINE_BRANCH) && x && x->next != in->address + in->size)
		begin_fetch_group(s, s->fetch_cycle + s->core->taken_cycles);
	t.bound = b.bound;
	t.cause = b.cause;
	t.cause_register = b.reg;
	t.port = b.port;
	s->sequence++;
	*ret = t;
}

/* What a checkpoint holds, from it or to it. */
#define COPY_CHECKPOINT(to, from)                                                    \
	do {                                                                         \
		(to)->sequence = (from)->sequence;                                   \
		(to)->fetch_cycle = (from)->fetch_cycle;                             \
		(to)->fetch_floor = (from)->fetch_floor;                             \
		(to)->fetch_line = (from)->fetch_line;                               \
		(to)->fetch_next = (from)->fetch_next;                               \
		(to)->fetch_room = (from)->fetch_room;                               \
		(to)->fetch_bytes = (from)->fetch_bytes;                             \
		(to)->fetch_cells = (from)->fetch_cells;                             \
		(to)->decoding = (from)->decoding;                                   \
		(to)->fetch_blame = (from)->fetch_blame;                             \
		(to)->queued = (from)->queued;                                       \
		(to)->issue_cycle = (from)->issue_cycle;                             \
		(to)->issue_floor = (from)->issue_floor;                             \
		(to)->issue_cause = (from)->issue_cause;                             \
		(to)->issue_room = (from)->issue_room;                               \
		(to)->slots = (from)->slots;                                         \
		(to)->load_count = (from)->load_count;                               \
		(to)->store_count = (from)->store_count;                             \
		(to)->memory_floor = (from)->memory_floor;                           \
		(to)->memory_cause = (from)->memory_cause;                           \
		(to)->commit = (from)->commit;                                       \
		(to)->commit_line = (from)->commit_line;                             \
		(to)->locked_commit = (from)->locked_commit;                         \
		(to)->commit_room = (from)->commit_room;                             \
		(to)->renamed = (from)->renamed;                                     \
		(to)->retire_cycle = (from)->retire_cycle;                           \
		(to)->last_complete = (from)->last_complete;                         \
		(to)->retire_room = (from)->retire_room;                             \
		memcpy((to)->registers, (from)->registers, sizeof((to)->registers)); \
		memcpy((to)->queue, (from)->queue, sizeof((to)->queue));             \
	} while (0)

void machine_simulator_speculate(struct machine_simulator *s, uint64_t squash_cycle)
{
	struct checkpoint *c = s->before;

	COPY_CHECKPOINT(c, s);
	s->fetch_floor = 0;
	s->squash = squash_cycle ? squash_cycle : 1;
}

bool machine_simulator_may_speculate(const struct machine_simulator *s)
{
	const struct machine_core *core = s->core;
	const struct checkpoint *c = s->before;

	/* Entries that the right path still waits for must not be overwritten. */
	return s->slots - c->slots + UINT8_MAX + clamp_size(core->reorder_buffer, REORDER_MAX) <
		       REORDER_MAX &&
	       s->load_count - c->load_count + 32 + clamp_size(core->load_buffer, BUFFER_MAX) <
		       BUFFER_MAX &&
	       s->store_count - c->store_count + 32 + clamp_size(core->store_buffer, BUFFER_MAX) <
		       BUFFER_MAX;
}

void machine_simulator_squash(struct machine_simulator *s)
{
	const struct checkpoint *c = s->before;

	COPY_CHECKPOINT(s, c);
	s->squash = 0;
}

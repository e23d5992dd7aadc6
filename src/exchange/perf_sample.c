/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/perf_event.h>
#include "analyze/calls/stack_set.h"
#include "exchange/places.h"

#define MAX_STACK_DEFAULT 127
#define BRANCHES_MAX	  1024
#define HARDWARE_INDEX	  (1u << 17)
#define BRANCH_COUNTERS	  (1u << 19)
#define FIXED                                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
	 PERF_SAMPLE_PERIOD)
#define WEIGHTS (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

struct sample {
	uint64_t ip, time, period, cgroup, weight, data_source, data;
	uint32_t pid, tid;
	const uint8_t *chain, *branches;
	uint64_t chain_count, branch_count;
	struct perf_copy copy;
	enum perf_mode mode;
	const uint8_t *raw; /* only of events that have it */
	uint32_t raw_size;
};

/* Bytes of the counts that come with PERF_SAMPLE_READ. */
static void skip_read(struct cursor *c, uint64_t format)
{
	unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1u << 4)); /* lost */
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t count = format & PERF_FORMAT_GROUP ? cursor_u64(c) : 1;

	if (count > cursor_left(c) / 8)
		count = cursor_left(c); /* nonsense, which the next read will find */
	cursor_bytes(c, 8 * (times + each * (size_t)count));
}

static const uint8_t *take_list(struct cursor *c, size_t each, uint64_t count)
{
	if (count > cursor_left(c) / each) {
		c->error = -EBADMSG;
		return NULL;
	}
	return cursor_bytes(c, (size_t)count * each);
}

static void take_branches(struct cursor *c, const struct perf_attr *a, struct sample *s)
{
	s->branch_count = cursor_u64(c);
	if (a->branch_type & HARDWARE_INDEX)
		cursor_u64(c);
	s->branches = take_list(c, sizeof(struct perf_branch_entry), s->branch_count);
	if (a->branch_type & BRANCH_COUNTERS)
		take_list(c, 8, s->branch_count);
}

/* Returns which ABI they are of; 0: there are none. */
static uint64_t take_registers(struct cursor *c, unsigned count, const uint8_t **ret)
{
	uint64_t abi = cursor_u64(c);

	*ret = abi ? cursor_bytes(c, 8 * (size_t)count) : NULL;
	return abi;
}

static void take_user_stack(struct cursor *c, struct perf_copy *copy)
{
	copy->asked = cursor_u64(c);
	if (!copy->asked)
		return;
	copy->stack = take_list(c, 1, copy->asked);
	copy->bytes = cursor_u64(c);
	if (copy->bytes > copy->asked)
		c->error = -EBADMSG;
}

/* What stands behind the branches. */
static void take_rest(struct perf *p, struct cursor *c, const struct perf_attr *a, struct sample *s)
{
	uint64_t t = a->sample_type;
	const uint8_t *other;

	if (t & PERF_SAMPLE_REGS_USER)
		s->copy.abi = take_registers(c, (unsigned)__builtin_popcountll(a->regs_user),
					     &s->copy.registers);
	if (t & PERF_SAMPLE_STACK_USER)
		take_user_stack(c, &s->copy);
	if (t & WEIGHTS)
		s->weight = cursor_u64(c);
	if (t & PERF_SAMPLE_DATA_SRC)
		s->data_source = cursor_u64(c);
	if (t & PERF_SAMPLE_TRANSACTION)
		p->counters.transactions += cursor_u64(c) != 0;
	if (t & PERF_SAMPLE_REGS_INTR)
		take_registers(c, a->regs_intr, &other);
	if (t & PERF_SAMPLE_PHYS_ADDR)
		p->counters.phys_addresses += cursor_u64(c) != 0;
	if (t & PERF_SAMPLE_CGROUP)
		s->cgroup = cursor_u64(c);
}

/* Of the part that all samples of an event have alike. The rest is emptied one by one: to clear all
 * of it at once takes longer than all else here. */
static int take_fixed(struct cursor *c, const struct perf_attr *a, struct sample *s)
{
	const uint8_t *at = cursor_bytes(c, a->fixed_bytes);

	if (!at)
		return c->error;
	s->pid = s->tid = 0;
	s->cgroup = s->weight = s->data_source = s->chain_count = s->branch_count = 0;
	s->copy.abi = s->copy.asked = s->copy.bytes = 0;
	s->ip = a->ip_at < 0 ? 0 : perf_u64(at + a->ip_at);
	if (a->tid_at >= 0) {
		s->pid = perf_u32(at + a->tid_at);
		s->tid = perf_u32(at + a->tid_at + 4);
	}
	s->time = a->time_at < 0 ? 0 : perf_u64(at + a->time_at);
	s->period = a->period_at < 0 ? a->period : perf_u64(at + a->period_at);
	s->data = a->address_at < 0 ? 0 : perf_u64(at + a->address_at);
	return 0;
}

/* The others are there or not, and of any length, in the order in which the kernel writes them. */
static int take_more(struct perf *p, struct cursor *c, const struct perf_attr *a, struct sample *s)
{
	uint64_t t = a->sample_type;

	if (t & PERF_SAMPLE_READ) {
		p->counters.reads++;
		skip_read(c, a->read_format);
	}
	if (t & PERF_SAMPLE_CALLCHAIN) {
		s->chain_count = cursor_u64(c);
		s->chain = take_list(c, 8, s->chain_count);
	}
	if (t & PERF_SAMPLE_RAW) {
		s->raw_size = cursor_u32(c);
		s->raw = take_list(c, 1, s->raw_size);
	}
	if (t & PERF_SAMPLE_BRANCH_STACK)
		take_branches(c, a, s);
	take_rest(p, c, a, s);
	return c->error;
}

static enum perf_mode mode_of(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return PERF_KERNEL;
	case PERF_RECORD_MISC_USER:
		return PERF_USER;
	case PERF_RECORD_MISC_GUEST_KERNEL:
	case PERF_RECORD_MISC_GUEST_USER:
		return PERF_GUEST;
	default:
		return PERF_UNKNOWN_MODE;
	}
}

/* The mode of what follows a mark in a chain. */
static enum perf_mode mode_of_context(uint64_t mark)
{
	switch (mark) {
	case PERF_CONTEXT_KERNEL:
		return PERF_KERNEL;
	case PERF_CONTEXT_USER:
		return PERF_USER;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL:
	case PERF_CONTEXT_GUEST_USER:
		return PERF_GUEST;
	default:
		return PERF_UNKNOWN_MODE;
	}
}

/*
 * Callers stand in a chain as the address that they are returned to. *ret_user: it has frames of
 * the process.
 */
static int follow_chain(struct perf *p, const struct sample *s, uint32_t place,
			struct places_stack *c, bool *ret_user)
{
	enum perf_mode mode = s->mode;
	enum perf_found found;
	uint32_t caller = place;
	bool first = true;
	int r = 0;

	*ret_user = false;
	for (uint64_t i = 0; i < s->chain_count && !r; i++) {
		uint64_t address = perf_u64(s->chain + 8 * i);

		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = mode_of_context(address);
			first = true;
			continue;
		}
		/* The first is the sample itself. */
		if (c->frames)
			r = perf_world_place(p, s->pid, mode, first ? address : address - 1,
					     &caller, &found);
		places_push(c, c->frames ? caller : place);
		*ret_user |= mode == PERF_USER;
		first = false;
	}
	return r;
}

/* Frames of the process by the copy of its stack, where the chain has none. */
static int follow_copy(struct perf *p, const struct perf_attr *a, const struct sample *s,
		       uint32_t place, struct places_stack *c, uint32_t *ret_note)
{
	if (!s->copy.bytes || !s->copy.abi || s->mode == PERF_GUEST)
		return 0;
	/* Of a sample in the kernel the innermost frame is there already. */
	return perf_stack_follow(p, a, s->pid, &s->copy, c->frames ? HARVEST_NONE : place, c,
				 ret_note);
}

static int add_stack(struct perf *p, const struct perf_attr *a, const struct sample *s,
		     uint32_t subject, uint32_t place)
{
	static const char deeper[] = STACK_TRUNCATED "deeper than was recorded]";
	unsigned deepest = a->max_stack ? a->max_stack : MAX_STACK_DEFAULT;
	struct places_stack c;
	uint32_t note = HARVEST_NONE;
	bool has_user;

	c.count = c.frames = 0;
	int r = follow_chain(p, s, place, &c, &has_user);
	if (!r && (c.frames >= deepest || c.frames > c.count)) {
		p->counters.stacks_cut++;
		r = places_note(p->harvest, 202, deeper, strlen(deeper), &note);
	} else if (!r && !has_user) {
		r = follow_copy(p, a, s, place, &c, &note);
	}
	if (!r && !c.count)
		places_push(&c, place);
	return r ? r : places_add_stack(p->harvest, a->event, subject, &c, note, 1);
}

static void count_found(struct perf_attr *a, const struct sample *s, enum perf_found found)
{
	a->unknown_process += found == PERF_NO_PROCESS && s->mode != PERF_GUEST;
	a->guest += s->mode == PERF_GUEST;
	a->unknown_mapping += found == PERF_NO_MAPPING;
	a->unknown_kernel += found == PERF_NO_KERNEL;
}

/* What the processor said of a memory access: how many, and the sum of their latencies. */
static void count_memory(struct perf *p, struct perf_attr *a, const struct sample *s)
{
	static const struct {
		const char *name;
		uint64_t level;
	} levels[] = {
		{"memory.l1", PERF_MEM_LVL_L1},
		{"memory.fill_buffer", PERF_MEM_LVL_LFB},
		{"memory.l2", PERF_MEM_LVL_L2},
		{"memory.l3", PERF_MEM_LVL_L3},
		{"memory.ram_local", PERF_MEM_LVL_LOC_RAM},
		{"memory.ram_remote", PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2},
		{"memory.cache_remote", PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2},
		{"memory.uncached", PERF_MEM_LVL_UNC | PERF_MEM_LVL_IO},
	};
	uint64_t level = s->data_source >> PERF_MEM_LVL_SHIFT;

	if (a->sample_type & WEIGHTS) {
		a->weights++;
		/* As a structure the latency is its low half. */
		a->weight_sum += a->sample_type & PERF_SAMPLE_WEIGHT_STRUCT ? s->weight & UINT32_MAX
									    : s->weight;
	}
	if (!(a->sample_type & PERF_SAMPLE_DATA_SRC) || level & PERF_MEM_LVL_NA ||
	    !(level & 0x3fff))
		return;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (level & levels[i].level && level & PERF_MEM_LVL_HIT) {
			harvest_count(p->harvest, a->event, levels[i].name, 1);
			return;
		}
	harvest_count(p->harvest, a->event, "memory.miss", 1);
}

/*
 * The branches that were taken last, the newest first: control went straight on from each one's
 * target to the next newer one's source, and from the newest target to the sample.
 */
static int add_branches(struct perf *p, const struct perf_attr *a, const struct sample *s,
			uint32_t place)
{
	uint32_t newest = HARVEST_NONE, oldest = HARVEST_NONE;
	int r = 0;

	p->counters.branch_stacks++;
	for (uint64_t i = 0; i < s->branch_count && i < BRANCHES_MAX && !r; i++) {
		const uint8_t *entry = s->branches + i * sizeof(struct perf_branch_entry);
		uint64_t address[2] = {perf_u64(entry), perf_u64(entry + 8)};
		enum perf_found found[2];
		uint32_t end[2];

		p->counters.branches++;
		for (int k = 0; k < 2 && !r; k++)
			r = perf_world_place(p, s->pid, address[k] >> 63 ? PERF_KERNEL : PERF_USER,
					     address[k], &end[k], &found[k]);
		if (r)
			break;
		/* What comes before it cannot be joined to what comes after. */
		if (found[0] != PERF_FOUND || found[1] != PERF_FOUND) {
			p->counters.branches_unplaced += s->branch_count - i;
			break;
		}
		r = harvest_edge(p->harvest, a->event, end[0], end[1], 1);
		newest = newest == HARVEST_NONE ? end[1] : newest;
		oldest = end[0];
	}
	if (r || newest == HARVEST_NONE)
		return r;
	r = harvest_edge(p->harvest, a->event, HARVEST_NONE, oldest, 1);
	return r ? r : harvest_edge(p->harvest, a->event, place, HARVEST_NONE, 1);
}

static int add_raw(struct perf *p, struct perf_attr *a, const struct sample *s, uint32_t subject,
		   uint32_t place)
{
	const struct perf_raw raw = {.at = s->raw,
				     .size = s->raw_size,
				     .address = s->ip,
				     .pid = s->pid,
				     .subject = subject,
				     .place = place};

	return s->raw_size ? perf_raw_take(p, a, &raw) : 0;
}

/* What became of the instruction, where the sample tells. */
static int add_inst(struct perf *p, struct perf_attr *a, const struct sample *s, uint32_t subject,
		    uint32_t place)
{
	const struct perf_inst at = {s->data, s->pid, subject, place};

	if (perf_inst_is_told(p, a))
		return perf_inst_take(p, a, &at, s->data_source, s->weight);
	p->counters.addresses += s->data != 0;
	return 0;
}

static int add_sample(struct perf *p, struct perf_attr *a, const struct sample *s)
{
	struct perf_sampled sampled = {.pid = s->pid, .mode = s->mode, .address = s->ip};
	uint32_t subject = 0, place;
	enum perf_found found;
	int r = perf_header_name(p, a);

	if (!r)
		r = perf_world_subject(p, s->pid, s->tid, s->cgroup, &subject);
	sampled.event = a->event;
	sampled.subject = subject;
	if (!r)
		r = perf_world_sample(p, &sampled, &place, &found);
	if (r)
		return r;
	a->samples++;
	a->units = a->units + s->period;
	if (s->time && (!p->first_ns || s->time < p->first_ns))
		p->first_ns = s->time;
	if (s->time > p->last_ns)
		p->last_ns = s->time;
	count_found(a, s, found);
	if (a->sample_type & (WEIGHTS | PERF_SAMPLE_DATA_SRC))
		count_memory(p, a, s);
	if (s->branch_count)
		r = add_branches(p, a, s, place);
	if (!r && a->sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER))
		r = add_stack(p, a, s, subject, place);
	if (!r && a->sample_type & PERF_SAMPLE_RAW)
		r = add_raw(p, a, s, subject, place);
	if (!r && a->sample_type & (WEIGHTS | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_ADDR))
		r = add_inst(p, a, s, subject, place);
	return r;
}

void perf_sample_take(struct perf *p, const uint8_t *record, size_t size)
{
	struct perf_attr *a = perf_header_find(p, record, size);
	struct cursor c = cursor_over(record + 8, size - 8);
	struct sample s;

	s.mode = mode_of(perf_u16(record + 4));
	if (!a) {
		p->counters.unknown_id++;
		return;
	}
	if (take_fixed(&c, a, &s) || (a->sample_type & ~FIXED && take_more(p, &c, a, &s))) {
		p->counters.lost_malformed++;
		return;
	}
	int r = add_sample(p, a, &s);
	if (r == -ENOMEM || r == -ENOSPC)
		p->error = r;
}

void perf_sample_expect(struct perf *p, const uint8_t *record, size_t size)
{
	const struct perf_attr *a = p->attrs;

	/* Of several events it is guessed from the first; nothing depends on it. */
	if (perf_u32(record) == PERF_RECORD_SAMPLE && a && a->ip_at >= 0 && a->tid_at >= 0 &&
	    size >= 8 + a->fixed_bytes)
		perf_world_expect(p, perf_u32(record + 8 + a->tid_at),
				  mode_of(perf_u16(record + 4)), perf_u64(record + 8 + a->ip_at));
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/decode.h"

/* union perf_mem_data_src of linux/perf_event.h, with what older headers lack. */
struct source {
	unsigned operation, level, snoop, lock, tlb, level_number, remote, snoop_more, blocked,
		hops;
};

enum operation { OP_LOAD = 2, OP_STORE = 4, OP_PREFETCH = 8 };
enum level {
	LEVEL_NA = 1,
	LEVEL_HIT = 1 << 1,
	LEVEL_MISS = 1 << 2,
	LEVEL_L1 = 1 << 3,
	LEVEL_FILL = 1 << 4,
	LEVEL_L2 = 1 << 5,
	LEVEL_L3 = 1 << 6,
	LEVEL_MEMORY = 7 << 7,	     /* local, and remote at two distances */
	LEVEL_OTHER_CACHE = 3 << 10, /* at two distances */
	LEVEL_UNCACHED = 3 << 12,    /* devices, and memory that is not cached */
	LEVEL_REMOTE = 15 << 8,	     /* but a cache beside the L3 cache is another core's */
};
enum level_number {
	NUMBER_L1 = 1,
	NUMBER_L2,
	NUMBER_L3,
	NUMBER_L4,
	NUMBER_L2_FILL,
	NUMBER_MEMORY_CACHE,
	NUMBER_UNCACHED = 8,
	NUMBER_CXL,
	NUMBER_DEVICE,
	NUMBER_ANY_CACHE,
	NUMBER_FILL,
	NUMBER_MEMORY,
	NUMBER_PERSISTENT,
	NUMBER_NA,
};
enum snoop { SNOOP_NA = 1, SNOOP_HIT = 4, SNOOP_HITM = 16 };
enum tlb { TLB_NA = 1, TLB_HIT = 2, TLB_MISS = 4, TLB_L1 = 8, TLB_L2 = 16, TLB_WALK = 32 };

#define SNOOP_FORWARDED_OR_PEER 3
#define LOCK_NA			1
#define LOCK_LOCKED		2
#define BLOCKED_NA		1

static struct source take_apart(uint64_t v)
{
	return (struct source){
		.operation = v & 0x1f,
		.level = v >> 5 & 0x3fff,
		.snoop = v >> 19 & 0x1f,
		.lock = v >> 24 & 3,
		.tlb = v >> 26 & 0x7f,
		.level_number = v >> 33 & 15,
		.remote = v >> 37 & 1,
		.snoop_more = v >> 38 & 3,
		.blocked = v >> 40 & 7,
		.hops = v >> 43 & 7,
	};
}

/* How far away the data was: 1 in the L1 cache, 2, 3 in those, 4 in none of them; 0: not told. */
static unsigned distance_of(const struct source *s)
{
	switch (s->level_number) {
	case NUMBER_L1:
	case NUMBER_L2:
	case NUMBER_L3:
		return s->level_number;
	case NUMBER_L2_FILL:
		return 2;
	case NUMBER_L4:
	case NUMBER_MEMORY_CACHE:
	case NUMBER_UNCACHED:
	case NUMBER_CXL:
	case NUMBER_DEVICE:
	case NUMBER_MEMORY:
	case NUMBER_PERSISTENT:
		return 4;
	default:
		break;
	}
	if (s->level & (LEVEL_MEMORY | LEVEL_UNCACHED))
		return 4;
	if (s->level & LEVEL_L3)
		return s->level & LEVEL_HIT ? 3 : 4;
	if (s->level & LEVEL_OTHER_CACHE)
		return 4;
	if (s->level & LEVEL_L2)
		return s->level & LEVEL_HIT ? 2 : 0;
	return s->level & LEVEL_L1 && s->level & LEVEL_HIT ? 1 : 0;
}

static void take_level(const struct source *s, struct inst_record *r)
{
	unsigned distance = distance_of(s);
	bool is_fill = s->level_number == NUMBER_FILL || s->level_number == NUMBER_L2_FILL ||
		       s->level & LEVEL_FILL;
	bool is_l1_miss = is_fill || (s->level & LEVEL_L1 && s->level & LEVEL_MISS);

	if (distance || is_l1_miss) {
		inst_set_event(r, INST_DCACHE_MISS, is_l1_miss || distance > 1);
		inst_set_event(r, INST_FILL_BUFFER, is_fill);
	}
	if (!distance)
		return;
	inst_set_event(r, INST_L2_MISS, distance > 2);
	inst_set_event(r, INST_L3_MISS, distance > 3);
	inst_set_event(r, INST_REMOTE,
		       s->remote || (s->level & LEVEL_REMOTE && !(s->level & LEVEL_L3)));
	inst_set_event(r, INST_UNCACHED,
		       s->level & LEVEL_UNCACHED || s->level_number == NUMBER_UNCACHED ||
			       s->level_number == NUMBER_DEVICE);
}

static void take_translation(const struct source *s, struct inst_record *r)
{
	bool is_l1_hit = s->tlb & TLB_L1 && s->tlb & TLB_HIT && !(s->tlb & TLB_L2);
	bool is_l2_hit = s->tlb & TLB_L2 && s->tlb & TLB_HIT && !(s->tlb & TLB_L1);
	bool is_walk = s->tlb & TLB_MISS || (s->tlb & TLB_WALK && !(s->tlb & (TLB_L1 | TLB_L2)));

	if (s->tlb & TLB_NA || !(s->tlb & (TLB_HIT | TLB_MISS)))
		return;
	/* "A hit in the first or the second": that it did not miss both is all that is told. */
	inst_set_event(r, INST_DTLB_WALK, is_walk);
	if (is_l1_hit || is_l2_hit || is_walk)
		inst_set_event(r, INST_DTLB_MISS, !is_l1_hit);
}

static void take_source(const struct source *s, struct inst_record *r)
{
	if (s->operation & (OP_LOAD | OP_STORE | OP_PREFETCH)) {
		inst_set_event(r, INST_LOAD, s->operation & OP_LOAD);
		inst_set_event(r, INST_STORE, s->operation & OP_STORE);
		inst_set_event(r, INST_PREFETCH, s->operation & OP_PREFETCH);
	}
	if (!(s->level & LEVEL_NA) || (s->level_number && s->level_number != NUMBER_NA))
		take_level(s, r);
	if (s->snoop && !(s->snoop & SNOOP_NA))
		inst_set_event(r, INST_OTHER_CORE,
			       s->snoop & (SNOOP_HIT | SNOOP_HITM) ||
				       s->snoop_more & SNOOP_FORWARDED_OR_PEER);
	if (s->lock && !(s->lock & LOCK_NA))
		inst_set_event(r, INST_LOCKED, s->lock & LOCK_LOCKED);
	take_translation(s, r);
	if (s->blocked)
		inst_set_event(r, INST_BLOCKED, !(s->blocked & BLOCKED_NA));
}

/* The first latency is a load's; a 0 says that none was measured. Those of stages may be 0. */
static void take_weight(const struct inst_memory *m, struct inst_record *r)
{
	uint32_t first = m->has_stages		  ? (uint32_t)m->weight
			 : m->weight < UINT32_MAX ? (uint32_t)m->weight
						  : UINT32_MAX;

	if (first && (!(r->known & INST_BIT(INST_LOAD)) || inst_has(r, INST_LOAD)))
		inst_set(r, INST_CYCLES_LOAD_DATA, first);
	if (!m->has_stages)
		return;
	inst_set(r, INST_CYCLES_ISSUE_DONE, m->weight >> 32 & 0xffff);
	inst_set(r, INST_CYCLES_RETIRE_GAP, m->weight >> 48);
}

void inst_from_memory(const struct inst_memory *m, enum inst_source source, struct inst_record *ret)
{
	struct source s = take_apart(m->data_source);

	inst_begin(ret, source);
	inst_set_event(ret, INST_RETIRED,
		       true); /* a precise sample is of an instruction that did */
	inst_set_event(ret, INST_ABORTED, false);
	if (m->has_source)
		take_source(&s, ret);
	if (m->has_weight)
		take_weight(m, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_RECORD_H
#define CULPRIT_INSTSAMPLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An instruction sample: what became of one instruction on its way through the processor, whoever
 * tells it. After the profile registers of J. Dean et al., ProfileMe: Hardware Support for
 * Instruction-Level Profiling on Out-of-Order Processors (MICRO-30, 1997), sections 4.1.3 and 4.2,
 * in terms of today's processors. Where and in which process it was sampled is beside it.
 *
 * No source knows all of it: an event counts only if it is among those that are known of this
 * sample, a value only if it is among its fields. All numbers here are stored in databases
 * (doc/FORMAT.md): they never change their meaning.
 */
enum inst_source {
	INST_IBS_OP = 1, /* AMD's instruction based sampling: operations that retired */
	INST_IBS_FETCH,	 /* ... fetches, of which most have several instructions */
	/* The core's own events, taken precisely, as the kernel tells them: Intel's PEBS. */
	INST_PRECISE,
	INST_SPE,   /* Arm's statistical profiling extension */
	INST_MODEL, /* a modelled core: fetched instructions, wrong paths included */
	INST_SOURCES = INST_MODEL,
};

/* X(field, name, help): what happened to the instruction. */
#define INST_EVENT_LIST(X)                                                               \
	X(RETIRED, "retired", "it retired")                                              \
	X(ABORTED, "aborted", "it was begun and thrown away")                            \
	X(ABORT_BRANCH, "abort_branch", "... because it followed a mispredicted branch") \
	X(ABORT_TRAP, "abort_trap", "... because of an exception or an interrupt")       \
	X(FETCH_ABORTED, "fetch_aborted", "its fetch was given up")                      \
	X(ICACHE_MISS, "icache_miss", "its code was not in the L1 instruction cache")    \
	X(ICACHE_L2_MISS, "icache_l2_miss", "... nor in the L2 cache")                   \
	X(ICACHE_L3_MISS, "icache_l3_miss", "... nor in the L3 cache")                   \
	X(OPCACHE_MISS, "opcache_miss", "it was not in the cache of decoded operations") \
	X(ITLB_MISS, "itlb_miss", "its page was not in the L1 instruction TLB")          \
	X(ITLB_WALK, "itlb_walk", "... nor in the L2 TLB")                               \
	X(LOAD, "load", "it read memory")                                                \
	X(STORE, "store", "it wrote memory")                                             \
	X(PREFETCH, "prefetch", "it was a prefetch")                                     \
	X(DCACHE_MISS, "dcache_miss", "its data was not in the L1 data cache")           \
	X(L2_MISS, "l2_miss", "... nor in the L2 cache")                                 \
	X(L3_MISS, "l3_miss", "... nor in the last cache before memory")                 \
	X(REMOTE, "remote", "its data came from another socket or node")                 \
	X(OTHER_CORE, "other_core", "its data came from another core's cache")           \
	X(DTLB_MISS, "dtlb_miss", "its data's page was not in the L1 data TLB")          \
	X(DTLB_WALK, "dtlb_walk", "... nor in the L2 TLB")                               \
	X(FORWARDED, "store_forwarded", "its data came from a store that had not ended") \
	X(FILL_BUFFER, "fill_buffer", "its cache line was already on its way")           \
	X(MISALIGNED, "misaligned", "its data crossed a boundary")                       \
	X(UNCACHED, "uncached", "its memory is not cached")                              \
	X(LOCKED, "locked", "it was a locked or atomic operation")                       \
	X(BLOCKED, "blocked", "it waited for the data or the address of a store")        \
	X(BRANCH, "branch", "it was a branch")                                           \
	X(TAKEN, "taken", "... that was taken")                                          \
	X(MISPREDICTED, "mispredicted", "... that was predicted wrong")                  \
	X(RETURN, "return", "... that was a return")                                     \
	X(MICROCODE, "microcode", "it came from the microcode")

enum inst_event {
#define INST_EVENT(field, name, help) INST_##field,
	INST_EVENT_LIST(INST_EVENT)
#undef INST_EVENT
		INST_EVENT_COUNT
};
_Static_assert(INST_EVENT_COUNT == 32, "one bit each");

#define INST_BIT(event) (1u << (event))

/* X(field, name, help): cycles that the instruction spent between two of its stages. */
#define INST_LATENCY_LIST(X)                                                                    \
	X(FETCH, "fetch", "its fetch")                                                          \
	X(ITLB, "itlb", "the translation of its address")                                       \
	X(FETCH_DISPATCH, "fetch_dispatch", "from its fetch until it was dispatched")           \
	X(DISPATCH_READY, "dispatch_ready", "... until its operands were there")                \
	X(READY_ISSUE, "ready_issue", "... until it was issued to a unit")                      \
	X(ISSUE_DONE, "issue_done", "... until it was done")                                    \
	X(DONE_RETIRE, "done_retire", "... until it retired, with all before it")               \
	X(DISPATCH_ISSUE, "dispatch_issue", "from its dispatch until it was issued")            \
	X(DISPATCH_DONE, "dispatch_done", "from its dispatch until it was done")                \
	X(RETIRE_GAP, "retire_gap", "since the instruction before it retired")                  \
	X(LOAD_DATA, "load_data", "until a load's data was there; what it begins with differs") \
	X(DTLB, "dtlb", "the translation of its data's address")

enum inst_field {
	INST_EVENTS, /* bits of enum inst_event; every sample has it */
#define INST_LATENCY(field, name, help) INST_CYCLES_##field,
	INST_LATENCY_LIST(INST_LATENCY)
#undef INST_LATENCY
		INST_CYCLES_END,
	INST_PAGE = 16, /* the class of its data's page: see inst_set_address */
	INST_LINE,	/* the cache line of its data in that page */
	/* The directions of the conditional branches before it, the last one in bit 0, 1: taken;
	 * above the first of them a bit that is set. */
	INST_HISTORY,
	INST_FIELD_COUNT,
};

#define INST_LATENCY_FIRST INST_CYCLES_FETCH
#define INST_LATENCY_COUNT (INST_CYCLES_END - INST_LATENCY_FIRST)

/*
 * A pair is one sample with two halves, of two instructions that were fetched near each other: the
 * fields of the other half have the numbers from INST_PAIR_HALF on, its place is beside the first
 * one's. Only a model has pairs: no processor of today does.
 */
#define INST_PAIR_HALF	   24
#define INST_PAIR_DISTANCE 48 /* instructions fetched from the first half to the other */
#define INST_PAIR_CYCLES   49 /* cycles between the two fetches */

#define INST_PAGE_CLASSES (1u << 16)

struct inst_record {
	uint8_t source;		/* enum inst_source */
	uint32_t events, known; /* that happened; that this source tells of such an instruction */
	uint32_t fields;	/* bits of enum inst_field: values that are there */
	uint32_t values[INST_FIELD_COUNT];
};

void inst_begin(struct inst_record *r, enum inst_source source);

/* It is known whether the event happened. */
static inline void inst_set_event(struct inst_record *r, enum inst_event event, bool happened)
{
	r->known |= INST_BIT(event);
	if (happened)
		r->events |= INST_BIT(event);
}

static inline void inst_set(struct inst_record *r, enum inst_field field, uint64_t value)
{
	r->fields |= 1u << field;
	r->values[field] = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static inline bool inst_has(const struct inst_record *r, enum inst_event event)
{
	return r->events >> event & 1;
}

/*
 * The address of its data, as a page class, 16 bits of a keyed hash of the page, and the line in
 * the page. The address cannot be had from it, and pages of samples under one key can be told apart
 * and be counted. key: of the process that has the page; it should not be known to anybody.
 */
void inst_set_address(struct inst_record *r, uint64_t key, uint64_t address);

/* What databases call source, event and latency; NULL: that number is not known. */
const char *inst_source_name(uint32_t source);
const char *inst_event_name(unsigned event);
const char *inst_latency_name(unsigned field);
/* A sentence's end each: "it retired". */
const char *inst_event_help(unsigned event);
const char *inst_latency_help(unsigned field);

#endif

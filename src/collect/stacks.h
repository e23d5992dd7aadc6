/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_H
#define CULPRIT_COLLECT_STACKS_H

#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "collect/keeper.h"
#include "collect/python_codes.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "db/batch.h"
#include "image/worker.h"
#include "util/diag.h"

/*
 * Stacks of a share of the samples: gives the unwinder in the kernel the tables that it needs,
 * takes the stacks that it counted, puts them into the batch with their frames resolved, and keeps
 * the cost within the budget. doc/stacks.md has the whole.
 */
struct stacks;

#define STACKS_MEMORY_DEFAULT (64u << 20) /* bytes of unwind tables */
#define STACKS_HZ	      100	  /* that are aimed at, of a CPU */
/* Of the budget: what stacks may take, while interrupts take the rest. Where so many are asked for:
 * what one is counted as, which pays for one of 20 to 30 frames. */
#define STACKS_BUDGET_SHARE 0.15
#define STACKS_COUNTED_NS   28000.0
/* Assumed of a stack until it was measured, and of the drain's work for it. */
#define STACKS_DEFAULT_NS 10000.0
#define STACKS_DRAIN_NS	  3000.0

struct stacks_config {
	/* All borrowed. */
	struct sampler *sampler;
	struct files *files;
	struct image_worker *worker;
	struct db_batch *batch;
	struct keeper *keeper;	     /* of symbols, and of names of Python functions */
	int (*make_room)(void *arg); /* as in struct resolver_config; calls stacks_begin_batch */
	void (*follow)(void *arg);   /* learns what processes did until now */
	void *arg;
	uint64_t memory_bytes;	     /* of tables; 0: the default */
	struct allowance *allowance; /* of who makes the tables; NULL: no limit */
	const char *types;	     /* as in struct unwinder_config; for stacks_new only */
};

/* -EOPNOTSUPP and others: the kernel or the processor cannot; in diag why. */
int stacks_new(const struct stacks_config *config, struct stacks **ret, struct diag *diag);
void stacks_free(struct stacks *s); /* after the sampler, whose program calls the unwinder */
/* Which share of the samples has a stack. */
struct stacks_rate {
	double hz;	       /* samples of each event a second on a busy CPU */
	double most_hz;	       /* stacks, at most; 0: one with each sample */
	double budget_percent; /* of a CPU, for stacks alone; INFINITY: whatever they cost */
};
/* Before sampler_start. */
int stacks_start(struct stacks *s, struct resolver *resolver, const struct stacks_rate *rate);
void stacks_begin_batch(struct stacks *s);
/* Takes what was counted and asks for the tables that were lacking. What processes did until now
 * must be known. */
void stacks_drain(struct stacks *s, uint64_t now_ns);
/* Readable when tables were made that stacks wait for. What follows is stacks_take_tables, which
 * wants the same as stacks_drain. */
int stacks_tables_fd(const struct stacks *s);
void stacks_take_tables(struct stacks *s);
/* After the last drain: those that wait still get their tables, but within 2 s. */
void stacks_finish(struct stacks *s);
/* When the first of them was taken; UINT64_MAX: none waits. Its process must be known until then.
 */
uint64_t stacks_oldest_ns(const struct stacks *s);
/* Readable when a stack met a file without a table; -1 while it would be too soon for the next.
 * What follows is stacks_take_waiting, which wants the same as stacks_drain. */
int stacks_poll_fd(const struct stacks *s, uint64_t now_ns);
void stacks_take_waiting(struct stacks *s);
/* When it is no longer too soon; UINT64_MAX if it is not. */
uint64_t stacks_poll_again_ns(const struct stacks *s, uint64_t now_ns);
/* When it wants to be drained next (CLOCK_MONOTONIC). */
uint64_t stacks_next_ns(const struct stacks *s);
/* From now on: of a CPU, for stacks alone, and samples a second on a busy one. */
void stacks_set_pace(struct stacks *s, double budget_percent, double hz);
/* Adds what is new to the batch's counters. */
void stacks_flush(struct stacks *s);

struct stacks_status {
	uint64_t stacks, complete, frames, stored, lost;
	uint64_t ends[WIRE_STACK_ENDS];
	uint64_t python_frames, python_unnamed, python_strangers, python_broken;
	struct python_codes_counters python_codes;
	uint64_t finished; /* in user space, because their tables came too late */
	uint64_t spent_ns; /* in the kernel */
	uint64_t tables, table_bytes, memory_bytes, evicted, without_table;
	uint64_t derived_rows, skipped_bytes, kept_tables, late_tables; /* see stack_files.h */
	uint32_t period;						/* one in so many samples */
};
void stacks_read_status(const struct stacks *s, struct stacks_status *ret);

#endif

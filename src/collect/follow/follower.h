/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_FOLLOW_FOLLOWER_H
#define CULPRIT_COLLECT_FOLLOW_FOLLOWER_H

#include <stdint.h>
#include "collect/cost/budget.h"
#include "db/counters.h"
#include "util/diag.h"

/*
 * What is done with a share of the samples beside counting them, by a program that the kernel runs
 * after the sampling program (enum wire_follower): stacks, edges. A session drives all of them
 * through this table and names none.
 */

struct allowance;
struct db_batch;
struct files;
struct image_worker;
struct keeper;
struct originals;
struct resolver;
struct sampler;

/* What a follower works with; all is borrowed, and outlives it. */
struct follower_config {
	struct sampler *sampler;
	struct files *files;
	struct image_worker *worker;
	struct db_batch *batch;
	struct keeper *keeper;	     /* of symbols, and of names of Python functions */
	struct allowance *allowance; /* of threads that make tables; NULL: no limit */
	int (*make_room)(void *arg); /* as in struct resolver_config; calls begin_batch */
	void (*follow)(void *arg);   /* learns what processes did so far */
	void *arg;
	double budget_percent; /* of a CPU, for all that collecting costs */
	double rate_hz;	       /* of samples, where the user chose it; 0: the budget's */
	const struct originals *originals;
	const char *types;   /* kernel_types.h; NULL: all of the kernel's; for open only */
	const void *options; /* the follower's own; may be NULL */
};

/* What the rate of samples leaves for it. */
struct follower_plan {
	double share; /* of the budget */
	/* Beside that: hz samples of each event a second are followed, whatever they cost, each
	 * counted as each_ns. */
	double hz, each_ns;
};

struct follower_start {
	struct resolver *resolver; /* borrowed */
	uint32_t event;		   /* whose samples are followed by a follower of one event's */
	double hz;		   /* samples of each event a second on a busy CPU */
};

#define FOLLOWER_FDS 3

/* Of a follower; self is what open returned. Those after read_spent may be NULL. */
struct follower_ops {
	enum budget_part part; /* what its cost is charged to */

	/* Loads its program, while other followers load theirs. -EOPNOTSUPP and others: the kernel
	 * or the processor cannot; diag says why. */
	int (*open)(const struct follower_config *config, void **ret, struct diag *diag);
	/* Called once the sampler is gone, whose program calls this one's. */
	void (*close)(void *self);
	struct follower_plan (*plan)(const void *self);
	/* Before sampler_start: has samples followed. 0 or -ENOMEM. */
	int (*start)(void *self, const struct follower_start *start);
	/* From now on it gets factor times what the budget planned for it, at hz samples of each
	 * event a second on a busy CPU. */
	void (*set_pace)(void *self, double factor, double hz);
	/* Takes what its program found. What processes did so far must be known. */
	void (*drain)(void *self, uint64_t now_ns);
	uint64_t (*next_ns)(const void *self); /* when it wants that next; CLOCK_MONOTONIC */
	/* Hands on all that it counts; always the same counters. */
	void (*each_counter)(const void *self, const struct counter_taker *to);
	/* flush adds what is new, beside counters, to the batch. begin_batch follows when the batch
	 * was written and cleared, and its numbers are void: 0 or -ENOMEM. */
	void (*flush)(void *self);
	int (*begin_batch)(void *self);
	uint64_t (*spent_ns)(const void *self); /* by its program, since the start */

	/* Fills in descriptors to wait for, at most FOLLOWER_FDS, where they are -1; returns when
	 * they are to be asked for again, UINT64_MAX: with the next work. */
	uint64_t (*poll)(const void *self, uint64_t now_ns, int *fds);
	/* Some are readable; needs the same as drain. */
	void (*wake)(void *self, const int *readable);
	/* When the oldest of what it keeps was sampled: what processes did since then must stay
	 * known. */
	uint64_t (*oldest_ns)(const void *self);
	/* After the last drain: ends what waits, within 2 s. */
	void (*finish)(void *self);
};

/* A request for a follower. */
struct follower_wish {
	const struct follower_ops *ops;
	const void *options; /* as in struct follower_config; borrowed */
	bool needed;	     /* it is an error if it is not available */
};

#endif

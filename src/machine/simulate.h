/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_SIMULATE_H
#define CULPRIT_MACHINE_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "machine/cost.h"

/*
 * An out-of-order core in one pass over instructions in program order: each gets the cycle in which
 * it is fetched, issued (renamed), begins, completes and retires, and what each of these waited
 * for. Memory, instruction cache and branch predictor are parts that plug in; without them they are
 * perfect.
 *
 * Older instructions take ports first, which is what schedulers mostly do; nothing here looks
 * ahead, so a trace of any length can be fed one instruction at a time.
 */
struct machine_simulator;

/* What an instruction's progress waited for last. */
enum machine_bound {
	MACHINE_BOUND_RETIRE,	  /* width of retirement: nothing else held it */
	MACHINE_BOUND_DEPENDENCY, /* a result: cause says whose */
	MACHINE_BOUND_MEMORY,	  /* its own load, longer than the first cache takes */
	MACHINE_BOUND_FORWARD,	  /* data of a store before it: cause */
	MACHINE_BOUND_LATENCY,	  /* its own latency, begun as soon as it was issued */
	MACHINE_BOUND_PORT,	  /* ports that were taken: port says one of them */
	MACHINE_BOUND_DIVIDER,
	MACHINE_BOUND_ISSUE,	  /* width of renaming */
	MACHINE_BOUND_FRONT_END,  /* fetch and decode */
	MACHINE_BOUND_ICACHE,	  /* the instruction cache's plug-in */
	MACHINE_BOUND_MISPREDICT, /* refill after a branch that the plug-in mispredicted: cause */
	MACHINE_BOUND_REORDER,	  /* no entry in the reorder buffer */
	MACHINE_BOUND_SCHEDULER,
	MACHINE_BOUND_LOADS,  /* load buffer */
	MACHINE_BOUND_STORES, /* store buffer */
	MACHINE_BOUND_SERIAL, /* a fence, a locked or a serialising instruction: cause */
	MACHINE_BOUNDS,
};

#define MACHINE_NO_CAUSE UINT64_MAX
#define MACHINE_NO_PORT	 UINT8_MAX

struct machine_timing {
	uint64_t fetch, issue, start, complete, retire; /* cycles */
	uint64_t ready; /* cycle in which its operands were there (of a load: its address) */
	uint64_t cause; /* sequence number of the instruction waited for, or MACHINE_NO_CAUSE */
	uint8_t bound;	/* enum machine_bound: why it did not retire with the one before */
	uint8_t cause_register; /* of a dependency: the number that was read */
	uint8_t port;		/* waited for, or MACHINE_NO_PORT */
	bool forwarded;		/* its data came from a store that had not reached the cache */
};

/* Facts of one execution that only a trace knows. */
struct machine_execution {
	uint64_t load_address, store_address; /* UINT64_MAX: not known */
	uint64_t next;			      /* address of what ran after it; 0: not known */
};

/*
 * The plug-ins; each may be NULL. load: cycles until a load's data is there (0: the first cache's
 * latency) for one that begins at the given cycle. store: the cycle from which on the first cache
 * can take a store whose address is known at the given cycle. fetch: extra cycles to fetch this
 * address. mispredicts: whether the branch's next address comes as a surprise.
 */
struct machine_plugins {
	void *arg;
	unsigned (*load)(void *arg, const struct machine_instruction *in, uint64_t address,
			 uint64_t cycle);
	unsigned (*fetch)(void *arg, uint64_t address, uint64_t cycle);
	bool (*mispredicts)(void *arg, const struct machine_instruction *in, uint64_t next);
	uint64_t (*store)(void *arg, const struct machine_instruction *in, uint64_t address,
			  uint64_t cycle);
};

/* plugins is copied; NULL: perfect. model must outlive it. -ENOMEM. */
int machine_simulator_new(const struct machine_model *model, const struct machine_plugins *plugins,
			  struct machine_simulator **ret);
void machine_simulator_free(struct machine_simulator *s);
/* An empty core at cycle 0, sequence number 0. */
void machine_simulator_reset(struct machine_simulator *s);
/* Lets later instructions depend on nothing before: all registers are ready. */
void machine_simulator_cut(struct machine_simulator *s);
/* One instruction more, in program order. execution may be NULL: branches taken if they always are,
 * addresses not known (then a load forwards from no store). */
void machine_simulator_step(struct machine_simulator *s, const struct machine_instruction *in,
			    const struct machine_execution *execution, struct machine_timing *ret);

/*
 * The wrong path after a branch that the plug-in mispredicted: instructions stepped from here on
 * are squashed in that cycle. They take ports, entries of the scheduler and the caches' time; what
 * they write, and where fetch, renaming and retirement had come to, is as before once they are
 * squashed. To be called right after the branch's step.
 */
void machine_simulator_speculate(struct machine_simulator *s, uint64_t squash_cycle);
/* Whether one more fits: the buffers hold no more than a core's. */
bool machine_simulator_may_speculate(const struct machine_simulator *s);
void machine_simulator_squash(struct machine_simulator *s);

/* Slots of renaming and retirement that an instruction takes, fusion considered. */
unsigned machine_simulator_slots(const struct machine_simulator *s,
				 const struct machine_instruction *in);

/* What one instruction of a loop or path costs in the best case. Averaged over executions. */
struct machine_head {
	double head_cycles; /* that it is the oldest one not retired: retire(i) - retire(i-1) */
	/* The part of them that this instruction is to blame for. The rest is lost to width and is
	 * no one's: its samples spread over all operations (doc/machine.md, "Heads"). */
	double stall_cycles;
	uint32_t slots; /* of renaming that it takes */
	uint8_t bound;	/* enum machine_bound: of most of its cycles */
	uint8_t cause_register, port;
	int32_t cause;		 /* index in the list of what it waits for, -1: none or outside */
	uint32_t cause_distance; /* rounds back; 0: the same one */
};

/* What holds a whole loop or path back. */
struct machine_steady {
	double cycles;	 /* a round */
	uint32_t slots;	 /* fused operations a round */
	uint8_t bound;	 /* what most of the cycles wait for */
	bool throughput; /* width binds: samples spread over all operations */
	uint32_t rounds; /* simulated */
	bool settled;	 /* false: it never repeated itself; the average of what was seen */
};

enum machine_repeat {
	MACHINE_LOOP, /* the list is a loop's body: registers carry over from round to round */
	MACHINE_PATH, /* it is not: rounds follow each other, but depend on nothing outside it */
};

/*
 * Simulates a list over and over until it repeats itself, with perfect caches and predictor (the
 * simulator's plug-ins, if any, are asked all the same); control goes from each instruction to the
 * next, and from the last to the first. Addresses are followed as far as registers change by
 * constants only, so a load finds the store before it. heads has count entries; ret_steady may be
 * NULL. 0, -EINVAL for an empty list or one over MACHINE_LIST_MAX, -ENOMEM.
 */
#define MACHINE_LIST_MAX 4096
int machine_head_times(struct machine_simulator *s, const struct machine_instruction *list,
		       size_t count, enum machine_repeat repeat, struct machine_head *heads,
		       struct machine_steady *ret_steady);

#endif

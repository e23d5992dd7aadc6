/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_BUDGET_H
#define CULPRIT_COLLECT_COST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One budget for all that collecting costs, all the time: what it took in each window is held
 * against it, and the rates of samples, stacks and windows of edges go down in steps when it was
 * more, and up again when there is room. This is the rule alone: session_budget.c reads the numbers
 * and applies it.
 */

enum budget_part {
	/* Those that go down with the step. */
	BUDGET_INTERRUPTS, /* at their measured cost, those that redraw periods too */
	BUDGET_FOLLOWERS,  /* the first of the programs that follow samples */
	BUDGET_STACKS = BUDGET_FOLLOWERS, /* their unwinding in the kernel */
	BUDGET_WINDOWS,			  /* the interpreter of edges */
	/* Those that do not. */
	BUDGET_PROGRAMS,  /* the kernel's, on forks, ends and moves of processes */
	BUDGET_TICKS,	  /* the program on the tick, and on the other timers that expire */
	BUDGET_RECORDS,	  /* that the kernel writes of processes and mappings */
	BUDGET_COLLECTOR, /* its threads that drain, resolve and look at files, and their workers */
	/* Threads and their workers that make unwind tables and keep symbols: work that is done
	 * once and can wait. Its allowance bounds it; no sample is given up for a burst of it. */
	BUDGET_HELPERS,
	BUDGET_PARTS,
};
#define BUDGET_PART_NAMES                                                                       \
	{                                                                                       \
		"interrupts", "stacks", "windows", "programs", "ticks", "records", "collector", \
			"helpers"                                                               \
	}

/* The share of the budget that is planned for the parts that no step lowers. */
#define BUDGET_REST_SHARE 0.2
/* The share of the budget that unwind tables and symbols may take on average (allowance.h), and how
 * long they may save it up: five minutes in which much was new leave less for the next. With one
 * minute the tables of a large new program were not paid for before it had ended. */
#define BUDGET_HELPERS_SHARE 0.3
#define BUDGET_BURST_S	     300.0

#define BUDGET_WINDOW_NS 10000000000ull
/* Windows over which what the helpers took is spread: ten minutes. */
#define BUDGET_SPREAD 60
/* Each step divides the planned rates by the square root of 2: down to an eighth of them, and at
 * least GOVERNOR_MIN_HZ. */
#define BUDGET_STEPS 7

struct budget_config {
	double percent; /* slowdown that is allowed */
	double cpus;
	bool fixed_rate; /* the user's: interrupts are reported, not held against the budget */
};

/* Running totals; only their differences count. */
struct budget_look {
	uint64_t now_ns;
	double busy_ns; /* time of CPUs that were not idle */
	double spent_ns[BUDGET_PARTS];
};

/* Slowdown in percent: what the kernel does, as a share of the time of busy CPUs, since it is those
 * that it interrupts; the collector's own threads and processes, as a share of all CPUs, which they
 * choose from. In a window the helpers' share is the mean of BUDGET_SPREAD windows, and no more
 * than their allowance. */
struct budget_use {
	double percent[BUDGET_PARTS], sum;
};

/* A minute of windows: a rate rises when it would have fitted in all of them. */
#define BUDGET_CALM 6

struct budget {
	struct budget_config config;
	struct budget_look first, last;
	struct budget_use window; /* the last whole one */
	double rest[BUDGET_CALM]; /* what no step lowers, of the last windows */
	double helpers[BUDGET_SPREAD];
	uint64_t windows, over; /* of these, those that went over the budget */
	unsigned step, since;	/* windows since it last changed */
};

void budget_start(struct budget *b, const struct budget_config *config,
		  const struct budget_look *look);
/* Takes a look and, when a window is over, acts on it; the first window is not judged. True when
 * the step has changed. */
bool budget_update(struct budget *b, const struct budget_look *look);
/* The rates of this step, as a fraction of the planned ones. */
double budget_factor(unsigned step);
/* What was used from the start until a look. */
struct budget_use budget_since_start(const struct budget *b, const struct budget_look *look);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_BUDGET_H
#define CULPRIT_COLLECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One budget for all that collecting costs, all the time: what it took in each window is held
 * against it, and the rates of samples, stacks and windows of edges go down in steps when it was
 * more, and up again when there is room. A rule over numbers: session_budget.c reads and applies
 * them.
 */

enum budget_part {
	/* What goes down with the step. */
	BUDGET_INTERRUPTS, /* at their measured cost, those that draw periods anew too */
	BUDGET_STACKS,	   /* their unwinding in the kernel */
	BUDGET_WINDOWS,	   /* the interpreter of edges */
	/* What does not. */
	BUDGET_PROGRAMS,  /* of the kernel's side, on forks, ends and moves of processes */
	BUDGET_RECORDS,	  /* that the kernel writes of processes and mappings */
	BUDGET_COLLECTOR, /* its threads that drain, resolve and look at files, and their workers */
	/* Threads and their workers that make unwind tables and keep symbols: work that is done
	 * once and can wait. Its allowance bounds it; no sample is given up for a burst of it. */
	BUDGET_HELPERS,
	BUDGET_PARTS,
};
#define BUDGET_PART_NAMES                                                                        \
	{                                                                                        \
		"interrupts", "stacks", "windows", "programs", "records", "collector", "helpers" \
	}

/* Of the budget: what is planned for the parts that no step lowers. */
#define BUDGET_REST_SHARE 0.2
/* Of the budget: what unwind tables and symbols may take on an average (allowance.h), and how long
 * they may save it up: after five minutes in which much was new the next have the less. Of one
 * minute the tables of a large new program were not paid for before it had ended. */
#define BUDGET_HELPERS_SHARE 0.3
#define BUDGET_BURST_S	     300.0

#define BUDGET_WINDOW_NS 10000000000ull
/* Windows over which what the helpers took is spread: ten minutes. */
#define BUDGET_SPREAD 60
/* Rates are the planned ones by the square root of 2 for each step: an eighth of them at least, and
 * at least GOVERNOR_MIN_HZ. */
#define BUDGET_STEPS 7

struct budget_config {
	double percent; /* slowdown that may be */
	double cpus;
	bool fixed_rate; /* the user's: interrupts are told, not held against the budget */
};

/* Totals since the start. */
struct budget_look {
	uint64_t now_ns;
	double busy_ns; /* time of CPUs that were not idle */
	double spent_ns[BUDGET_PARTS];
};

/* Slowdown in percent: what the kernel does, of the time of CPUs at work, since it is those that it
 * interrupts; the collector's own threads and processes, of all CPUs, which they choose from. In a
 * window the helpers' is the mean of BUDGET_SPREAD windows, and no more than their allowance. */
struct budget_use {
	double percent[BUDGET_PARTS], sum;
};

/* Windows, a minute: a rate rises when it would have fitted in all of them. */
#define BUDGET_CALM 6

struct budget {
	struct budget_config config;
	struct budget_look first, last;
	struct budget_use window; /* the last whole one */
	double rest[BUDGET_CALM]; /* what no step lowers, of the last windows */
	double helpers[BUDGET_SPREAD];
	uint64_t windows, over; /* of these, what is held against the budget was above it */
	unsigned step, since;	/* windows since it last changed */
};

void budget_start(struct budget *b, const struct budget_config *config,
		  const struct budget_look *look);
/* Takes a look, and when a window is over, what follows; the first window is not judged. True when
 * the step has changed. */
bool budget_update(struct budget *b, const struct budget_look *look);
/* What the rates of this step are, of the planned ones. */
double budget_factor(unsigned step);
/* From the start until a look. */
struct budget_use budget_since_start(const struct budget *b, const struct budget_look *look);

#endif

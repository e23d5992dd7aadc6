/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_TRUTH_H
#define CULPRIT_SIM_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "instsample/record.h"

/*
 * What is true of each instruction of a run in detail: what samples of it estimate. Each execution
 * is counted, in all that samples can tell; and the instructions that were useful while it was in
 * progress, of ProfileMe's section 5.2.3: those that were issued to the pipeline in the cycles from
 * its fetch until it was done, and retired.
 */
struct sim_truth_row {
	uint64_t fetched, events[INST_EVENT_COUNT];
	uint64_t progress_cycles; /* from fetch until done, added up */
	uint64_t useful;	  /* others, added up */
	uint64_t head_cycles;	  /* that all retirement waited for it */
	uint64_t dispatch_cycles; /* from fetch until it was issued */
};

#define TRUTH_FLIGHT 8192 /* instructions that a core and its queues may hold, and more */

/* One thread's: of its instructions in flight. */
struct sim_flight {
	uint64_t issued[TRUTH_FLIGHT]; /* the cycles in which useful ones were, ascending */
	uint64_t count;		       /* of them, ever */
	struct sim_open {
		uint64_t done, from; /* from: how many useful ones were issued before its fetch */
		uint32_t site;
		bool self; /* it is one of them */
	} open[TRUTH_FLIGHT];
	uint64_t opened, closed;
	uint64_t before; /* count at the last fetch */
};

struct sim_truth {
	struct sim_truth_row *rows; /* by site */
	size_t row_count, row_room;
	bool failed; /* there was no memory for a row */
};

/* One execution. fetch, issue, done: cycles, ascending; an aborted one is done when it is squashed.
 */
struct sim_passage {
	uint32_t site, events;
	bool retired;
	uint64_t fetch, issue, done, head_cycles;
};

void sim_truth_free(struct sim_truth *t);
void sim_truth_add(struct sim_truth *t, struct sim_flight *f, const struct sim_passage *p);
/* The pipeline is empty: what is open ends with what is known. */
void sim_truth_end(struct sim_truth *t, struct sim_flight *f);

#endif

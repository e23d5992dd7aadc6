/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_BURSTS_H
#define CULPRIT_COUNTING_BURSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "counting/plans.h"

/*
 * Counts that cover part of the time: bursts at random moments, in groups, each of which is a
 * sample of the whole time. The groups' counts tell the executions in the whole time; the
 * differences between groups tell how well these are known.
 */

#define BURSTS_GROUPS	     8
#define BURSTS_PROCESSES_MAX 256

/* What a process took of the processor. */
struct bursts_process {
	pid_t pid;
	uint64_t first_ns, last_ns; /* when it was met, and seen last */
	uint64_t began_ns;	    /* at the start of a burst */
};

struct bursts {
	double share; /* of the time: what they may cost */
	/* What was sampled, by number of the image. */
	struct bursts_image {
		char *path;
		uint64_t *list;
		size_t count, room;
		uint64_t samples;
	} * images;
	size_t image_room;
	uint64_t samples;
	bool given; /* nothing comes any more */

	uint64_t children, child_ticks; /* of the process: which it had when it was first seen */

	struct bursts_process processes[BURSTS_PROCESSES_MAX];
	size_t process_count;
	uint32_t slots;
	uint64_t *before, *now;	       /* counters, when a burst began and ended */
	uint64_t *sums[BURSTS_GROUPS]; /* of them, in all of a group's */
	/* Of each group: time of processors in bursts, what all counters rose by, bursts; and that
	 * time as it would have been uncounted, by bursts_settle(). */
	uint64_t ran_ns[BURSTS_GROUPS], counters[BURSTS_GROUPS], count[BURSTS_GROUPS];
	double counted_ns[BURSTS_GROUPS];
};

void bursts_free(struct bursts *b); /* what it has, and itself; NULL is fine */

/* What the file of this path was sampled at; NULL: too little to be counted. */
const struct bursts_image *bursts_find_image(const struct bursts *b, const char *path);
int bursts_add_sample(struct bursts *b, uint32_t image, const char *path, uint64_t address,
		      uint64_t count);

/* Reads the CPU clocks of processes, new ones included. begins: a burst begins now. Returns the
 * time since it began. */
uint64_t bursts_look(struct bursts *b, const pid_t *pids, size_t count, bool begins);
/* What all of them took since they were met. */
double bursts_total_ns(const struct bursts *b);
double bursts_counted_ns(const struct bursts *b);

/* Room for the counters. 0, -ENOMEM. */
int bursts_set_slots(struct bursts *b, uint32_t slots);
/* Adds a burst to a group: what the counters rose by, from before to now, and the time that it ran
 * for. Returns the sum of the counters. */
uint64_t bursts_add(struct bursts *b, unsigned group, uint64_t ran_ns);
/* When all bursts are over: takes from their time what counting took itself, by how often copies
 * were entered from outside, in all of them. Before any estimate. */
void bursts_settle(struct bursts *b, uint64_t entries);

/*
 * An execution counted in all groups stands for so many in the whole time; windows: how many
 * independent events would be known as well, by the differences between groups. 0: it was not.
 */
struct bursts_estimate {
	uint64_t count, windows;
};
struct bursts_estimate bursts_estimate(const struct bursts *b, uint64_t sum,
				       const uint64_t counts[BURSTS_GROUPS]);

#endif

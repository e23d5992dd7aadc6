/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_SAMPLE_H
#define CULPRIT_SIM_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "instsample/record.h"

/*
 * Which of the fetched instructions are sampled, after ProfileMe (section 4): a counter of those
 * fetched on the predicted path, wrong ones too, that is set to a random number as soon as it has
 * chosen one. Set only when that one had left the pipeline, instructions of a loop in step with it
 * would be chosen too often or never.
 *
 * Pairs (section 4.2, 5.2.1): after the first half the other is chosen a random number of fetched
 * instructions later, from 1 to the window's size.
 */
#define SAMPLE_WAITING 64 /* first halves that wait for their other one */

struct sim_half {
	uint32_t site, thread;
	uint64_t fetch; /* cycle */
	struct inst_record record;
};

struct sim_pair {
	struct sim_half first, other;
	uint32_t distance; /* 0: a single sample, there is no other */
	uint64_t cycles;
};

struct sim_sampler {
	uint64_t period;	      /* mean distance; 0: nothing is sampled */
	unsigned window;	      /* of pairs; 0: single samples */
	uint64_t left, position, due; /* due: the position of the next other half */
	uint64_t random;
	struct {
		struct sim_half half;
		uint64_t at, due;
	} waiting[SAMPLE_WAITING];
	unsigned waiting_count;
	uint64_t refused; /* first halves for which there was no room */
	void (*take)(void *arg, const struct sim_pair *pair);
	void *arg;
};

void sim_sampler_init(struct sim_sampler *s, uint64_t period, unsigned window, uint64_t seed);

/* One more was fetched: whether it is a half of a sample; then sim_sampler_take() is due. */
static inline bool sim_sampler_chooses(struct sim_sampler *s)
{
	s->position++;
	return (s->left && !--s->left) || s->position == s->due;
}

void sim_sampler_take(struct sim_sampler *s, const struct sim_half *half);
/* What waits for its other half never gets it. */
void sim_sampler_drop(struct sim_sampler *s);

#endif

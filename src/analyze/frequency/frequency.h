/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_H
#define CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/frequency/evidence.h"
#include "util/diag.h"

/*
 * How often every block and every edge of a program ran, estimated from its evidence.
 *
 * Two unknowns, kept apart: the relative frequency (executions for each instruction that the whole
 * selection executes; so that over all blocks the sum of relative frequency times instructions is
 * 1), and the absolute count (executions in the profiled time). How they are found:
 * doc/analysis.md.
 */
struct frequency;

enum frequency_confidence {
	FREQUENCY_LOW,
	FREQUENCY_MEDIUM,
	FREQUENCY_HIGH,
	FREQUENCY_COUNTED, /* no estimate: all executions were counted */
};

/* Of the estimates marked high, 90% are within 15% of the truth; medium: within 50%. low and high
 * hold the truth with a probability of 90%; of what was counted they are the value. */
struct frequency_estimate {
	double value, low, high;
	enum frequency_confidence confidence;
};

enum frequency_method {
	FREQUENCY_FLOW,	   /* one flow over the whole program */
	FREQUENCY_CLASSIC, /* DCPI's rule: classes, and the cluster of lowest samples / cycles */
};

struct frequency_options {
	enum frequency_method method;
	/* Of one sample of the time event; 0: not known, then counts and CPI are per sample of time
	 * and of low confidence. */
	double cycles_per_sample;
	/* Instructions per sample of `instructions`; 0: there are none. */
	double instructions_per_sample;
};

/* What is known of one function; arrays are indexed as the function's blocks and edges are. */
struct frequency_function {
	const struct cfg_function *function;
	uint32_t image; /* number in the evidence */
	uint64_t samples;
	bool counted; /* what it has is exact (but for ways that its counts do not tell) */
	struct frequency_estimate entries;			       /* absolute: calls of it */
	const struct frequency_estimate *block_relative, *block_count; /* [block_count] */
	const struct frequency_estimate *edge_relative, *edge_count;   /* [edge_count] */
};

/* The evidence must outlive the result. */
int frequency_new(const struct evidence *e, const struct frequency_options *o,
		  struct frequency **ret, struct diag *diag);
void frequency_free(struct frequency *f);

/* The function that has an address; NULL when it has no evidence. */
const struct frequency_function *frequency_find(const struct frequency *f, uint32_t image,
						uint64_t address);
/* How often the way out of a block was seen: what the shares of its ways rest on, however little is
 * known of how often it ran. */
double frequency_outcomes(const struct frequency *f, const struct frequency_function *one,
			  uint32_t block);
/* Says that all ran so many times as often as was thought; shares stay, and no bound is moved past
 * what the best case allows. Not where something was counted. */
void frequency_rescale(struct frequency *f, double factor);
/* All of them, by image and address. */
const struct frequency_function *frequency_functions(const struct frequency *f, size_t *ret_count);

/* Whether they are by DCPI's rule: asked for, or because the flow was too large to be solved. */
bool frequency_is_classic(const struct frequency *f);
/* Instructions executed in the whole selection, absolute. */
struct frequency_estimate frequency_instructions(const struct frequency *f);

/* What a sample stands for: cycles of the program; 0: not known. deviation: of their logarithm. */
struct sample_cycles {
	double mean, deviation;
};

/*
 * Cycles per execution, from time and frequency: samples * cycles of each / count. Its interval
 * combines the noise of the samples (Poisson), the error of the cycles of a sample, and the
 * interval of the count.
 *
 * samples: those charged to an instruction or a block; count: its absolute executions. With no
 * executions the value is 0 and of low confidence.
 */
struct frequency_estimate cpi_estimate(double samples, struct sample_cycles each,
				       const struct frequency_estimate *count);

#endif

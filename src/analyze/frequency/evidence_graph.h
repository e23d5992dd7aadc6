/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_EVIDENCE_GRAPH_H
#define CULPRIT_ANALYZE_FREQUENCY_EVIDENCE_GRAPH_H

#include "analyze/frequency/evidence.h"
#include "cfg/cfg.h"
#include "util/hash.h"

/* What evidence_build makes, for the estimators: everything by number. */

struct evidence_block {
	uint64_t samples;
	double executed; /* samples of an `instructions` event */
	double visits;	 /* of windows, the mean of its instructions */
	double leaving;	 /* visits that got past its last instruction */
	double outcomes; /* of its last instruction that were recorded, if it transfers control */
	double cost;	 /* cycles at best */
	double counted;	 /* arrivals at its start, of counts */
	double counted_error; /* its deviation at most: what is counted in bursts varies together */
	/* ... of these by ways that counts do not tell; and times that it was left by such ways. */
	double strewn, scattered;
	/* Windows only, for evidence_build: arrivals at the start, at its instructions, and those
	 * weighted by the share of the block that they passed. */
	double head, inside, passed;
	/* For the crowding of samples: sum of n log n over instructions with n samples, and how
	 * many instructions these are. */
	double entropy_sum;
	uint32_t sampled;
	uint32_t loop; /* number of its loop in loops, plus 1; 0: none whose iterations are known */
};

/* A loop that ran as often as pairs of samples say (iterations.h). */
struct evidence_loop {
	uint32_t function, header; /* header: in blocks */
	double iterations, sigma;  /* in all; of its logarithm */
};

struct evidence_way {
	double passes;	 /* of an edge, in windows or fallen through */
	double recorded; /* by hardware */
	double counted, counted_error;
};

enum evidence_counted {
	EVIDENCE_NOT_COUNTED,
	EVIDENCE_COUNTED_MISFIT, /* its counts are of another graph */
	EVIDENCE_COUNTED_PART,	 /* ratios alone */
	EVIDENCE_COUNTED_WHOLE,
};

struct evidence_function {
	const struct cfg_function *function;
	uint32_t image;
	uint32_t first_block, first_edge; /* in blocks and ways */
	uint64_t samples;
	double unexplained; /* arrivals at its entry from code that is not in the graph */
	/*
	 * How far samples crowd on few of a block's instructions, in blocks that have enough: 0
	 * when the processor takes them evenly, large when it waits for a few of them. The
	 * Kullback-Leibler divergence from an even spread, summed over crowding_samples of them.
	 */
	double crowding, crowding_samples;
	enum evidence_counted counted;
	double counted_least; /* of bursts: the least that they saw; 0: all was seen */
	uint32_t counted_epochs, last_epoch; /* that have counts of it */
};

#define EVIDENCE_NO_EDGE UINT32_MAX

/* A call or jump that is not an edge of a function's graph: one seen, or known from the code. */
struct evidence_call {
	uint32_t callee, target; /* function; block of it */
	uint32_t caller, block;	 /* function; block of it that ends in the call */
	uint32_t edge;		 /* of the caller: out of it, if a jump; else EVIDENCE_NO_EDGE */
	bool direct;		 /* it can only go there */
	double passes;
};

struct evidence {
	struct evidence_image *images;
	size_t image_count, image_room;
	evidence_cost cost;
	void *cost_argument;
	struct evidence_function *functions; /* by image and entry */
	size_t function_count, function_room;
	struct evidence_block *blocks;
	struct evidence_way *ways;
	struct evidence_call *calls; /* by callee, target, caller, block, edge; each once */
	struct evidence_loop *loops;
	size_t block_count, way_count, call_count, call_room, loop_count, loop_room;
	struct evidence_totals totals;
	uint32_t counted_epochs;
	/* Functions that were counted tell how often others ran: windows tie both, and they have
	 * most of the samples (doc/trials/counts.md); a few may be all start-up and page faults. */
	bool counts_scale;
	struct map64 *numbers; /* of functions, by their cfg_function; only while building */
};

/* Whether a function's counts are what others are measured by. */
static inline bool evidence_is_scale(const struct evidence *e, const struct evidence_function *f)
{
	return e->counts_scale && f->counted == EVIDENCE_COUNTED_WHOLE;
}

/* NULL: it has no evidence. */
const struct evidence_function *evidence_find(const struct evidence *e, uint32_t image,
					      uint64_t address);
/* The same by its entry; builds nothing. */
const struct evidence_function *evidence_find_entry(const struct evidence *e, uint32_t image,
						    uint64_t entry);

/* Lays samples and edges on blocks and edges of a graph of numbered functions. 0 or -ENOMEM. */
int evidence_place_all(struct evidence *e);

/* An instruction of the graph. */
struct evidence_place {
	uint32_t function, block, instruction; /* block: of the function */
};

/* An edge that was counted, and its places; NULL: not in the graph, or a start or end.
 */
void evidence_place_count(struct evidence *e, const struct evidence_edge *row,
			  const struct evidence_place *from, const struct evidence_place *to);
/* Finds the loops whose iterations are known from pairs; when samples are placed. 0 or -ENOMEM. */
int evidence_find_loops(struct evidence *e);
/* Says, when all are placed, what each function's counts are worth. */
void evidence_judge_counts(struct evidence *e);

#endif

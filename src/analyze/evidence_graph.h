/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_EVIDENCE_GRAPH_H
#define CULPRIT_ANALYZE_EVIDENCE_GRAPH_H

#include "analyze/evidence.h"
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
	/* Windows only, for evidence_build: arrivals at the start, at its instructions, and those
	 * weighted by the share of the block that they passed. */
	double head, inside, passed;
	/* For the crowding of samples: sum of n log n over instructions with n samples, and how
	 * many instructions these are. */
	double entropy_sum;
	uint32_t sampled;
};

struct evidence_way {
	double passes;	 /* of an edge, in windows or fallen through */
	double recorded; /* by hardware */
};

struct evidence_function {
	const struct cfg_function *function;
	uint32_t image;
	uint32_t first_block, first_edge; /* in blocks and ways */
	uint64_t samples;
	double unexplained; /* arrivals at its entry from code that is not in the graph */
	/*
	 * How far samples crowd on few of a block's instructions, in blocks that have enough: 0
	 * when the processor takes them evenly, large when it waits for a few of them. The sum over
	 * crowding_samples of them of Kullback and Leibler's divergence from an even spread.
	 */
	double crowding, crowding_samples;
};

#define EVIDENCE_NO_EDGE UINT32_MAX

/* A call or jump that is no edge of a function's graph, and was seen, or that the code says. */
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
	size_t block_count, way_count, call_count, call_room;
	struct evidence_totals totals;
	struct map64 *numbers; /* of functions, by their cfg_function; only while building */
};

/* NULL: it has no evidence. */
const struct evidence_function *evidence_find(const struct evidence *e, uint32_t image,
					      uint64_t address);
/* The same by its entry; builds nothing. */
const struct evidence_function *evidence_find_entry(const struct evidence *e, uint32_t image,
						    uint64_t entry);

#endif

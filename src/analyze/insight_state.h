/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INSIGHT_STATE_H
#define CULPRIT_ANALYZE_INSIGHT_STATE_H

#include "analyze/best_case.h"
#include "analyze/charge.h"
#include "analyze/culprits_kinds.h"
#include "analyze/edge_profile.h"
#include "analyze/insight.h"
#include "cfg/function_graph.h"
#include "cfg/open.h"
#include "isa/memo.h"

/* What is behind struct insights; for the insight*.c files only. */

/* What an event beside time tells of. */
enum insight_event {
	INSIGHT_EVENT_OTHER,
	INSIGHT_EVENT_TIME,
	INSIGHT_EVENT_INSTRUCTIONS,
	INSIGHT_EVENT_CACHE_MISSES,
	INSIGHT_EVENT_DTLB_MISSES,
	INSIGHT_EVENT_ICACHE_MISSES,
	INSIGHT_EVENT_ITLB_MISSES,
	INSIGHT_EVENT_BRANCH_MISSES,
	INSIGHT_EVENT_PAGE_FAULTS,
};

struct insight_image {
	const struct query_image *image;
	const struct query_part *part; /* NULL: nothing of it is selected */
	struct cfg_image *cfg;	       /* NULL: not at hand */
	const struct image_symbols *symbols;
	struct isa_decoder *decoder;
	struct isa_memo *memo;		/* of decoder */
	struct isa_decoder *writers[2]; /* by enum isa_syntax; made when a text is asked for */
	struct culprit_kinds *kinds;
	struct evidence_sample *samples, *executed; /* of time, of instructions */
	size_t sample_count, executed_count;
	const struct evidence_edge *touches; /* of the edge profile, joined */
	size_t touch_count;
	uint64_t total;			    /* of samples */
	bool masks;			    /* its samples may have waited: see masked.h */
	uint32_t number;		    /* in the evidence */
	struct culprit_footprint footprint; /* of its own code */
	struct diag why;		    /* it has no cfg */
	int error;			    /* the same */
};

struct insights {
	const struct query *query;
	struct image_finder *finder;
	void (*progress)(const char *doing, size_t done, size_t of); /* NULL: nobody looks */
	struct edge_profile *edges;
	const struct machine_core *core;
	struct machine_model *model;
	struct machine_simulator *simulator;
	struct charge_skid skid;
	struct culprit_limits limits;
	struct insight_image *images; /* as the query's */
	size_t image_count;
	uint32_t *by_number; /* evidence number -> image */
	uint8_t event_kinds[QUERY_EVENTS_MAX];
	struct evidence *evidence;
	struct frequency *frequency;
	struct insights_function *functions;
	size_t function_count;
	uint64_t samples;
	struct insights_basis basis;
	char core_text[256];
	/* The function whose blocks the estimation asks the costs of, one after the other. */
	const struct cfg_function *cost_function;
	struct best_case *cost;
	/* By function (its address here): best cases that nobody has asked for again yet. */
	struct map64 *kept;
	size_t kept_bytes;
};

/* insight.c: the bytes at an address of an image's code; NULL: not there. A struct
 * insight_image as its argument. */
const uint8_t *insight_code_at(void *image, uint64_t address);
/* The first of the image's samples of time at an address or behind it. */
size_t insight_first_sample(const struct insight_image *image, uint64_t address);
/* Samples of time between two addresses. */
uint64_t insight_samples_between(const struct insight_image *image, uint64_t start, uint64_t end);

/* insight_best.c: best case of a function by where its samples are, freed by the caller. loops may
 * be NULL. */
int insight_best_case(struct insights *all, struct insight_image *image,
		      const struct cfg_function *f, const struct cfg_loops *loops,
		      struct best_case **ret);
/* Takes it over (NULL: nothing), for the next that asks for the function's; or frees it. */
void insight_keep_best_case(struct insights *all, const struct cfg_function *f,
			    struct best_case *best);
void insight_free_best_cases(struct insights *all);

/* insight.c: from the culprits of the instructions. */
void insight_summarize(struct insight *r);

/* insight_footprint.c: how much code the functions of each image keep in use. -ENOMEM. */
int insight_footprints(struct insights *all);

#endif

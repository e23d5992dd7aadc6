/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INSIGHT_STATE_H
#define CULPRIT_ANALYZE_INSIGHT_STATE_H

#include "analyze/culprits/best_case.h"
#include "analyze/culprits/charge.h"
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/frequency/edge_profile.h"
#include "analyze/insight.h"
#include "cfg/function_graph.h"
#include "cfg/open.h"
#include "isa/memo.h"

/* What is behind struct insights; for the insight*.c files only. */

/* What an event tells of. */
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
	struct cfg_image *cfg;	       /* NULL: not available */
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
	struct diag why;		    /* why it has no cfg */
	int error;			    /* the same, as a negative errno */
};

struct insights {
	const struct query *query;
	struct image_finder *finder;
	/* NULL: no progress is reported. */
	void (*progress)(const char *format, ...) __attribute__((format(printf, 1, 2)));
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
	char core_text[600];
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

static inline struct sample_cycles insights_sample(const struct insights *all)
{
	return (struct sample_cycles){all->basis.cycles_per_sample, all->basis.cycles_deviation};
}
/* Samples of time between two addresses. */
uint64_t insight_samples_between(const struct insight_image *image, uint64_t start, uint64_t end);

/* insight.c: how many times its best case a function takes, by its stated counts and by where its
 * samples are (0: they do not say). 0 or -ENOMEM. */
int insight_stall(struct insights *all, struct insight_image *image,
		  const struct frequency_function *frequency, double *ret_said, double *ret_shape);

/* insight_best.c: best case of a function by where its samples are, freed by the caller. loops may
 * be NULL. */
int insight_best_case(struct insights *all, struct insight_image *image,
		      const struct cfg_function *f, const struct cfg_loops *loops,
		      struct best_case **ret);
/* Takes best over (NULL: nothing) for whoever next asks for the function's; or frees it. */
void insight_keep_best_case(struct insights *all, const struct cfg_function *f,
			    struct best_case *best);
void insight_free_best_cases(struct insights *all);

/* insight_footprint.c: how much code the functions of each image keep in use. -ENOMEM. */
int insight_footprints(struct insights *all);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_EVIDENCE_H
#define CULPRIT_ANALYZE_FREQUENCY_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/batch.h"
#include "util/diag.h"

/*
 * What a profile says about the execution of a whole program, laid on the control-flow graphs of
 * its images: one graph whose nodes are the basic blocks of every function that has evidence, and
 * whose arcs are the ways between them, within functions, and from calls to entries and back.
 *
 *	evidence_new(&e, diag);
 *	evidence_add_image(e, ...) for each image of the selection, numbered 0, 1, ...
 *	evidence_build(e, diag);
 *	frequency_new(e, ...)			see frequency.h
 *
 * The image's arrays and its CFG are borrowed until the evidence is freed.
 */
struct evidence;
struct cfg_image;
struct cfg_function;

/* Samples of the event that stands for time (cycles, cpu-clock). */
struct evidence_sample {
	uint64_t offset, count;
};

/* Ways that control was seen to take; from and to as in the database: a conditional branch that is
 * not taken goes to the next instruction. */
#define EVIDENCE_START UINT64_MAX /* from: a window of interpretation begins at to */
#define EVIDENCE_END   UINT64_MAX /* to: a window ends before from is executed */

#define EVIDENCE_EPOCHS_MAX ((1u << 24) - 1)

struct evidence_edge {
	uint64_t from, to, count;
	uint32_t to_image;	       /* number of the image that has to */
	enum db_evidence evidence : 8; /* how much it is worth */
	uint32_t epoch : 24;	       /* of counts: see evidence_set_counted() */
	uint64_t windows;	       /* passes of one window are not independent; 0: not known */
};

struct iterations_pair;

struct evidence_image {
	struct cfg_image *cfg; /* NULL: no code available; its samples still count */
	const struct evidence_sample *samples; /* by ascending offset */
	size_t sample_count;
	const struct evidence_edge *edges; /* any order, may repeat */
	size_t edge_count;		   /* counts of one function: those of one epoch together */
	const struct evidence_sample *executed; /* samples of an `instructions` event, by offset */
	size_t executed_count;
	struct iterations_pair *pairs; /* of samples of the time event; in any order, is sorted */
	size_t pair_count;
	bool masks; /* samples may have waited for interrupts to be enabled: see masked.h */
};

int evidence_new(struct evidence **ret, struct diag *diag);
void evidence_free(struct evidence *e);
int evidence_add_image(struct evidence *e, const struct evidence_image *image, struct diag *diag);

/*
 * The cycles that a block's instructions cost at best, all caches hitting, in a steady state: from
 * the machine model. NULL function: one cycle for every four instructions.
 */
typedef double (*evidence_cost)(void *arg, const struct cfg_function *function, size_t block);
void evidence_set_cost(struct evidence *e, evidence_cost cost, void *arg);

/*
 * Says that the samples are of so many epochs, in each of which the counts are of the same
 * processes as the samples. A function that has counts in every one of them was then counted whole:
 * it ran as often as they say. Other counts (all, when this is 0 or was not said) are of other runs
 * than the samples: they tell only the ratios of branches.
 */
void evidence_set_counted(struct evidence *e, uint32_t epochs);

/* Builds the graph. -E2BIG past EVIDENCE_MAX_BLOCKS; what had no place is counted. */
#define EVIDENCE_MAX_BLOCKS (1u << 23)
int evidence_build(struct evidence *e, struct diag *diag);

struct evidence_totals {
	uint64_t samples, samples_placed; /* placed: in a known block */
	uint64_t edges, edges_placed;	  /* outcomes, and those that are an edge of the graph */
	uint64_t windows;		  /* begun */
	uint64_t functions, blocks;
	/* Counted whole; with counts that tell ratios alone; with counts that are not of the graph
	 * as it is here, which are left out. */
	uint64_t functions_counted, functions_part, functions_misfit;
	uint64_t functions_bursts;	/* of those counted whole: estimates from bursts */
	uint64_t samples_counted;	/* of those counted whole */
	uint64_t loops, samples_looped; /* loops whose iterations pairs tell, and their samples */
};
void evidence_totals(const struct evidence *e, struct evidence_totals *ret);

#endif

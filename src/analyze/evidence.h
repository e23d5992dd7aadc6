/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_EVIDENCE_H
#define CULPRIT_ANALYZE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

struct evidence_edge {
	uint64_t from, to, count;
	uint32_t to_image; /* number of the image that has to */
	uint64_t windows;  /* passes of one window are not independent; 0: not known */
};

/* How much an edge profile is worth. */
enum evidence_kind {
	EVIDENCE_WINDOWS,  /* interpreted windows: they start where time is spent */
	EVIDENCE_HARDWARE, /* branch records: they start where branches are executed */
};

struct evidence_image {
	struct cfg_image *cfg;		       /* NULL: no code at hand; its samples still count */
	const struct evidence_sample *samples; /* by rising offset */
	size_t sample_count;
	const struct evidence_edge *edges; /* any order, may repeat */
	size_t edge_count;
	enum evidence_kind kind;		/* of the edges */
	const struct evidence_sample *executed; /* samples of an `instructions` event, by offset */
	size_t executed_count;
	bool masks; /* samples may have waited for interrupts to be let in: see masked.h */
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

/* Builds the graph. -E2BIG past EVIDENCE_MAX_BLOCKS; what had no place is counted. */
#define EVIDENCE_MAX_BLOCKS (1u << 23)
int evidence_build(struct evidence *e, struct diag *diag);

struct evidence_totals {
	uint64_t samples, samples_placed; /* placed: in a known block */
	uint64_t edges, edges_placed;	  /* outcomes, and those that are an edge of the graph */
	uint64_t windows;		  /* begun */
	uint64_t functions, blocks;
};
void evidence_totals(const struct evidence *e, struct evidence_totals *ret);

#endif

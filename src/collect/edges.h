/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGES_H
#define CULPRIT_COLLECT_EDGES_H

#include <stdint.h>
#include "bpf/wire_edges.h"
#include "collect/files.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "db/batch.h"
#include "image/worker.h"
#include "util/diag.h"

/*
 * Edge samples (DCPI, section 7): a share of the samples is followed by an interpreter in the
 * kernel, which says where control would go from there. This gives it the code to run over, takes
 * its windows, and keeps its cost within the budget. doc/edges.md has the whole.
 */
struct edges;

#define EDGES_MEMORY_DEFAULT (16u << 20) /* bytes of decoded code */
/* Of the budget: what windows may take, while interrupts take the rest. */
#define EDGES_BUDGET_SHARE (1.0 / 3)
/* Assumed of a window until it was measured, and of the drain's work for it. */
#define EDGE_WINDOW_DEFAULT_NS 20000.0
#define EDGE_WINDOW_DRAIN_NS   4000.0

struct edges_config {
	/* All borrowed. */
	struct sampler *sampler;
	struct files *files;
	struct image_worker *worker;
	struct db_batch *batch;
	int (*make_room)(void *arg); /* as in struct edge_windows_config; calls edges_begin_batch */
	void *arg;
	uint32_t memory_bytes; /* of decoded code; 0: the default */
	double budget_percent; /* of a CPU, for the windows alone */
	const char *types;     /* as in struct windows_config; for edges_new only */
};

/* -EOPNOTSUPP and others: the kernel or the processor cannot; in diag why. */
int edges_new(const struct edges_config *config, struct edges **ret, struct diag *diag);
void edges_free(struct edges *e); /* after the sampler, whose program calls the interpreter */
/* Before sampler_start: follows samples of that event, of which a busy CPU takes hz a second. 0 or
 * -ENOMEM. */
int edges_start(struct edges *e, struct resolver *resolver, uint32_t event, double hz);

int edges_begin_batch(struct edges *e);
/* When it wants to be called next (CLOCK_MONOTONIC): soon while code is met for the first time. */
uint64_t edges_next_ns(const struct edges *e);
/* Takes the windows that are there, decodes what they lacked, and sets the pace. What processes did
 * until now must be known. */
void edges_drain(struct edges *e, uint64_t now_ns);
/* From now on: of a CPU, for the windows alone, and samples a second on a busy one. */
void edges_set_pace(struct edges *e, double budget_percent, double hz);
/* Adds what is new to the batch's counters and facts. */
void edges_flush(struct edges *e);

struct edges_status {
	uint64_t windows, outcomes, instructions,
		spent_ns; /* of the interpreter, since the start */
	uint64_t ends[WIRE_END_REASONS];
	uint64_t stored, refused, lost; /* windows; lost: the ring or the storage was full */
	uint64_t decoded, evicted, files;
	uint32_t period; /* one in so many samples of user mode; 0: none */
};
void edges_read_status(const struct edges *e, struct edges_status *ret);

#endif

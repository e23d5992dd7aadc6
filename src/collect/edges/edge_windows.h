/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGES_EDGE_WINDOWS_H
#define CULPRIT_COLLECT_EDGES_EDGE_WINDOWS_H

#include <stdint.h>
#include "bpf/wire_edges.h"
#include "collect/edges/edge_code.h"
#include "db/batch.h"

/* From the interpreter's windows to edges in the batch. */
struct edge_windows;

#define EDGE_EVENT "windows" /* its name in the database; no period: it varies with the budget */

struct edge_windows_config {
	/* All borrowed. */
	struct edge_code *code;
	struct db_batch *batch;
	/* Called when the batch is full: flushes and clears it, and calls edge_windows_begin_batch.
	 * A failure drops what did not fit (counted). */
	int (*make_room)(void *arg);
	void *arg;
};

struct edge_windows *edge_windows_new(const struct edge_windows_config *config);
void edge_windows_free(struct edge_windows *w);

/* What a place is in the batch: its image's number and path, its offset there. 0; -ENOENT: it is in
 * no file, or no code of it; or an error of the batch. */
int edge_windows_find(struct edge_windows *w, struct wire_place place, uint32_t *ret_image,
		      uint64_t *ret_offset, const char **ret_path);

/* To be called after each db_batch_clear: the numbers that it gave are void. */
int edge_windows_begin_batch(struct edge_windows *w);

/*
 * Stores a window. unplaced: the place of its end, where the interpreter did not know the file
 * (slot 0: still not known; then the window counts as ended before the branch that led there). What
 * does not hold together is refused (counted). The window has only as many edges in memory as it
 * says.
 */
void edge_windows_take(struct edge_windows *w, const struct wire_window *window,
		       struct wire_place unplaced);

/*
 * Stores a pair of samples, as db/pairs.h has it, without the values of its registers: at most
 * EDGE_PAIRS_OF_CODE for each 256 bytes of code and EDGE_PAIRS_MAX in a batch; the others are left
 * out (counted).
 */
#define EDGE_PAIRS_OF_CODE 256
#define EDGE_PAIRS_MAX	   8192
void edge_windows_take_pair(struct edge_windows *w, const struct wire_pair *pair);

struct edge_windows_counters {
	uint64_t windows, outcomes;	    /* stored; outcomes: passes over edges */
	uint64_t empty;			    /* windows in which nothing was executed */
	uint64_t refused;		    /* invalid windows */
	uint64_t pairs, pairs_left;	    /* stored, and left out */
	uint64_t lost_storage, lost_memory; /* windows of which some edges could not be kept */
};
void edge_windows_read_counters(const struct edge_windows *w, struct edge_windows_counters *ret);

#endif

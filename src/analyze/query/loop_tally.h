/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_LOOP_TALLY_H
#define CULPRIT_ANALYZE_QUERY_LOOP_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cfg/cfg.h"
#include "util/arena.h"

/* Sums the samples of one image by the loops that they are in. */
struct loop_tally;

/* One loop that has samples. */
struct loop_sum {
	uint64_t header;       /* address of the loop's first block */
	uint64_t parent;       /* of the loop around it, or ISA_NO_ADDRESS */
	uint64_t function;     /* entry of its function */
	uint32_t depth;	       /* 1: outermost */
	bool irreducible;      /* control enters at several places */
	uint64_t *total, *own; /* for each event: with and without the loops inside it */
};

/* A loop with those around it. */
struct loop_nest {
	const struct loop_nest *parent; /* NULL: none */
	uint64_t header;
	uint32_t depth;
	bool irreducible;
};

enum loop_place {
	LOOP_INSIDE,  /* counted for a loop */
	LOOP_OUTSIDE, /* in no loop that is known */
	LOOP_NO_CODE, /* no function's code at the address */
};

/* The image is borrowed until the tally is freed. 0 or -ENOMEM. */
int loop_tally_new(struct cfg_image *image, size_t event_count, struct loop_tally **ret);
void loop_tally_free(struct loop_tally *t);
/* Counts samples of one event at an address. Returns an enum loop_place, or -ENOMEM. */
int loop_tally_add(struct loop_tally *t, uint64_t address, size_t event, uint64_t count);
/* The innermost loop at an address, NULL: none is known; the same each time. 0 or -ENOMEM. */
int loop_tally_nest(struct loop_tally *t, uint64_t address, struct arena *memory,
		    const struct loop_nest **ret);
/* Once, when all is counted: the loops that have samples, those of a function together, outer loops
 * before inner ones. 0, or -ENOMEM. Owned by the tally. */
int loop_tally_sums(struct loop_tally *t, const struct loop_sum **ret, size_t *ret_count);
/* Functions with samples whose graph misses edges, so that loops may be missing too. */
size_t loop_tally_incomplete(const struct loop_tally *t);

#endif

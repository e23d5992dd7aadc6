/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_PLANS_H
#define CULPRIT_COUNTING_PLANS_H

#include <stddef.h>
#include <stdint.h>
#include "image/facts.h"
#include "instrument/code.h"
#include "instrument/copy.h"
#include "instrument/plan.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * An image's functions, planned: where each is counted, copies of them for an address, and counts
 * from their counters. All that understands the code of foreign files is here, in a process of its
 * own (planner.h).
 */

/* What is known of an image when its functions are planned. */
struct plans_facts {
	struct image_facts image;
	uint64_t gate; /* address of the function that loaders call when they have mapped something;
			  0: none */
	uint64_t bytes; /* that the copies have at most */
	uint32_t functions, planned, slots;
	uint32_t left[INSTRUMENT_REASONS]; /* functions left alone, by reason */
	uint32_t cut; /* functions of which edges are cut, as they have too many paths */
};

/* How often control went from an instruction to another, as counts stand in a database: db/batch.h.
 */
struct plans_edge {
	uint64_t from, to, count;
};

struct plans;

/* Where an image was sampled: addresses in it. */
struct plans_sampled {
	const uint64_t *list;
	size_t count;
};

/* What is asked for. */
struct plans_request {
	struct plans_sampled sampled; /* list: only the functions that have samples are planned */
	const char *names;  /* an extended regular expression: only functions of such a name are */
	uint32_t paths_max; /* 0: edges are counted; else paths, so many of a function at most */
};

/* path: where the file can be opened by now. q: NULL: the edges of all functions are counted. 0, or
 * a negative errno with the reason. */
int plans_new(const char *path, const struct plans_request *q, struct plans **ret,
	      struct plans_facts *ret_facts, struct diag *diag);
void plans_free(struct plans *p); /* NULL is fine */

/* The copies of all planned functions for an address: as many as facts.planned, in codes. One that
 * could not be made has no bytes. */
int plans_copy(const struct plans *p, const struct instrument_destination *at,
	       struct instrument_code *codes);

/* A path that was run, followed by the addresses of its blocks. Numbers of the last kind are of a
 * whole function. */
struct plans_path {
	uint64_t function, count;
	uint64_t end; /* enum instrument_path_end; PLANS_PATH_UNSEEN: it has no blocks */
	uint64_t to;  /* the block that the path goes on to; else 0 */
	uint64_t blocks;
};
#define PLANS_PATH_UNSEEN 16 /* of which the beginning was not seen */

/*
 * Appends to edges (struct plans_edge; where paths are counted, struct plans_path) what the
 * counters say; counters: facts.slots of them; left: of each planned function whether no process
 * has its copy. Returns how many of the functions have counts that do not fit together (of those
 * that no flow can have nothing is appended), or a negative errno.
 */
int plans_count(const struct plans *p, const uint64_t *counters, const uint8_t *left,
		struct buf *edges);

#endif

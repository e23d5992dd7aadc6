/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_COPY_STATE_H
#define CULPRIT_INSTRUMENT_COPY_STATE_H

#include "instrument/copy.h"
#include "util/buf.h"

/* A copy on its way; for copy*.c only. */

/* A displacement that waits for where something of the copy is. */
struct link {
	uint32_t at;	    /* where its 32 bits are */
	const uint32_t *to; /* of labels, entrances or taken, below */
};

/* What an edge's step does only where the thread did not come as expected lies behind the function.
 */
struct copying_detour {
	uint32_t start, back, out; /* it begins there, and goes on there, or there */
	uint64_t charged;	   /* of the original */
};

struct copying {
	const struct instrument_plan *plan;
	const struct cfg_function *f;
	const struct instrument_destination *to;
	struct buf out;
	struct instrument_code *code;
	uint32_t *labels;    /* of each block: where its copy is */
	uint32_t *entrances; /* of each block: where flow from the original comes in */
	uint32_t *taken;     /* of each block: where its branch goes first; INSTRUMENT_NONE: not yet
				known */
	uint32_t *front;     /* of each block: whose taken branch is counted right in front of it,
				or INSTRUMENT_NONE */
	struct link *links;
	size_t link_count, link_room, piece_room;
	struct instrument_piece inserted; /* what is inserted now is this, wherever it comes */
	struct copying_detour *detours;	  /* of each edge, where paths are counted; else NULL */
	uint32_t leave_dead, count_left;  /* where the copy has these: copy_paths.c */
};

/* An instruction, or the rest of one, that the original does not have; what waits for a label. */
void copying_put_inserted(struct copying *c, const char *bytes, size_t size);
void copying_put_link(struct copying *c, const uint32_t *to);

/* copy_paths.c: what counts paths at an edge, in front of a call, and out of the way. */
void copying_put_step(struct copying *c, uint32_t edge);
void copying_put_call(struct copying *c, uint32_t block);
void copying_put_detours(struct copying *c);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_PAIR_H
#define CULPRIT_INSTSAMPLE_PAIR_H

#include "instsample/record.h"

/* What two halves of a pair were to one another: ProfileMe, section 5.2. */

/* The stage that an instruction was in at a cycle; the numbers are in reports' names. */
enum inst_stage {
	INST_STAGE_BEFORE, /* not fetched yet */
	INST_STAGE_FETCH,  /* fetched, not dispatched */
	INST_STAGE_WAITS,  /* for operands */
	INST_STAGE_READY,  /* for a unit */
	INST_STAGE_RUNS,
	INST_STAGE_DONE, /* waits to retire */
	INST_STAGE_OVER,
	INST_STAGES
};

/* Cycles from its fetch until it was ready to retire, or, of one that was thrown away, as far as it
 * came. Waiting for those before it is not its own doing. */
uint64_t inst_progress(const struct inst_record *r);
/* The cycle of its dispatch, from its fetch on; false: it never was. */
bool inst_dispatch(const struct inst_record *r, uint64_t *ret_cycle);
/* Useful overlap (5.2.3): while one is in progress the other is issued, and later retires. cycles:
 * from the fetch of the one to that of the other. */
bool inst_overlaps(const struct inst_record *r, const struct inst_record *other, int64_t cycles);
/* Where it was so many cycles after its fetch. */
enum inst_stage inst_stage_at(const struct inst_record *r, int64_t cycles);
const char *inst_stage_name(enum inst_stage stage);

#endif

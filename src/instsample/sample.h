/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_SAMPLE_H
#define CULPRIT_INSTSAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a processor says of one instruction, or one fetch of instructions, that it sampled: the same
 * fields whoever made it (AMD's IBS: ibs.h; room for Intel's PEBS and Arm's SPE). Those without a
 * unit are 0 or 1.
 */
enum inst_field {
	INST_NONE,
	INST_TOTAL_CYCLES,    /* from being chosen until it retired */
	INST_COMPLETE_CYCLES, /* of these, since it was executed */
	INST_MICROCODE,
	INST_BRANCH, /* one that retired */
	INST_TAKEN,
	INST_MISPREDICTED,
	INST_RETURN,
	INST_LOAD,
	INST_STORE,
	INST_PREFETCH, /* by software */
	INST_LOCKED,
	INST_MISALIGNED,
	INST_ADDRESS, /* of the data, linear */
	INST_L1_MISS, /* of data, as the three after it */
	INST_L2_MISS,
	INST_TLB1_MISS,
	INST_TLB2_MISS,
	INST_MISS_CYCLES, /* that a miss of the first data cache took */
	INST_TLB_CYCLES,
	INST_SOURCE, /* enum inst_source */
	INST_FETCHED,
	INST_FETCH_CYCLES,
	INST_FETCH_L1_MISS,
	INST_FETCH_L2_MISS,
	INST_FETCH_TLB1_MISS,
	INST_FETCH_TLB2_MISS,
	INST_FIELDS,
};

/* Where data came from that missed the second cache. */
enum inst_source {
	INST_FROM_CACHE = 1, /* near: of this core's complex or socket */
	INST_FROM_FAR_CACHE,
	INST_FROM_MEMORY,
	INST_FROM_FAR_MEMORY, /* of another socket, or behind a link */
	INST_FROM_DEVICE,
};

struct inst_sample {
	uint64_t known; /* a bit a field */
	uint64_t value[INST_FIELDS];
};

static inline void inst_sample_set(struct inst_sample *s, enum inst_field field, uint64_t value)
{
	s->known |= 1ull << field;
	s->value[field] = value;
}

/* False: the sample does not say. */
static inline bool inst_sample_get(const struct inst_sample *s, enum inst_field field,
				   uint64_t *ret)
{
	if (s->known >> field & 1)
		*ret = s->value[field];
	return s->known >> field & 1;
}

#endif

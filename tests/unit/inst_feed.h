/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_INST_FEED_H
#define CULPRIT_TESTS_INST_FEED_H

/* Made-up instruction samples, of a program as one might be: no processor told them. */

#include <stdint.h>
#include "instsample/record.h"

static inline uint64_t inst_feed_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* A latency: the least it takes, and now and then more, by powers of two. */
static inline uint32_t inst_feed_cycles(uint64_t *state, uint32_t least)
{
	uint64_t n = inst_feed_random(state);

	return least + (uint32_t)(n % (least + 1)) +
	       (n >> 32 & 7 ? 0 : (uint32_t)(n >> 36 & 255) << (n >> 48 & 1));
}

/* A sample of one of 4000 instructions, a few of which have most of them; *ret_offset: of which. */
static inline void inst_feed_one(uint64_t *state, enum inst_source source, struct inst_record *r,
				 uint64_t *ret_offset)
{
	uint64_t n = inst_feed_random(state), which = n % 4000;
	unsigned kind;

	for (unsigned i = 0; i < 3; i++)
		which = inst_feed_random(state) % (which + 1);
	*ret_offset = 0x1000 + which * 5;
	kind = (unsigned)(which * 7 % 10);
	inst_begin(r, source);
	inst_set_event(r, INST_RETIRED, true);
	inst_set_event(r, INST_ABORTED, false);
	inst_set_event(r, INST_LOAD, kind < 3);
	inst_set_event(r, INST_STORE, kind == 3);
	inst_set_event(r, INST_BRANCH, kind == 4 || kind == 5);
	inst_set(r, INST_CYCLES_DISPATCH_DONE, inst_feed_cycles(state, 4 + which % 30));
	inst_set(r, INST_CYCLES_DONE_RETIRE, inst_feed_cycles(state, which % 60));
	if (inst_has(r, INST_BRANCH)) {
		inst_set_event(r, INST_TAKEN, n >> 20 & 1);
		inst_set_event(r, INST_MISPREDICTED, (n >> 24) % 30 == 0);
	}
	if (kind > 3)
		return;
	inst_set_event(r, INST_DCACHE_MISS, (n >> 32) % 9 == 0);
	inst_set_event(r, INST_L2_MISS, (n >> 32) % 81 == 0);
	inst_set_event(r, INST_DTLB_MISS, (n >> 40) % 20 == 0);
	inst_set_address(r, 7, (n >> 16) % ((which % 7 + 1) << 20));
	if (inst_has(r, INST_DCACHE_MISS))
		inst_set(r, INST_CYCLES_LOAD_DATA, inst_feed_cycles(state, 14));
	if (inst_has(r, INST_DTLB_MISS))
		inst_set(r, INST_CYCLES_DTLB, inst_feed_cycles(state, 7));
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_MEMORY_H
#define CULPRIT_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/setup.h"

/*
 * Caches, translation and prefetchers of one core, and the last cache, which all share. A line has
 * the cycle from which its data is there, so that what asks for one that is on its way waits for
 * the rest only. With timing off (functional warming) everything is there at once.
 */
#define MEMORY_NEVER UINT64_MAX

struct memory_line {
	uint64_t tag, ready; /* tag: line number plus 1; 0: none */
};

struct memory_cache {
	struct memory_line *lines; /* sets of ways, the last one used first */
	uint32_t sets, ways;
};

/* What an access met, as bits. */
enum memory_met {
	MEMORY_L1_MISS = 1,
	MEMORY_L2_MISS = 2,
	MEMORY_L3_MISS = 4,
	MEMORY_TLB_MISS = 8,
	MEMORY_TLB_WALK = 16,
	MEMORY_ON_ITS_WAY = 32, /* the line was being fetched already */
};

struct memory_access {
	uint32_t met;
	uint32_t translation_cycles; /* beyond what a hit takes */
	uint64_t ready;		     /* the cycle in which its data is there */
};

#define MEMORY_STRIDES 256
#define MEMORY_STREAMS 32

struct memory_stride {
	uint32_t site;
	uint8_t sure;
	int64_t step;
	uint64_t last;
};

struct memory_stream {
	uint64_t page, line; /* number of the last line */
	int8_t direction;
	uint8_t sure;
	uint32_t used;
};

/* What all cores share. */
struct memory_shared {
	struct memory_cache l3;
	uint64_t channel_free; /* the cycle in which memory can bring the next line */
};

struct memory {
	const struct sim_config *config;
	struct memory_shared *shared;
	struct memory_cache l1i, l1d, l2, itlb, dtlb, tlb2;
	struct memory_stride strides[MEMORY_STRIDES];
	struct memory_stream streams[MEMORY_STREAMS];
	uint32_t clock;
	bool timed;
};

/* -ENOMEM. memory_shared_free() and memory_free() in any case. */
int memory_shared_init(struct memory_shared *s, const struct sim_config *config);
void memory_shared_free(struct memory_shared *s);
int memory_init(struct memory *m, const struct sim_config *config, struct memory_shared *shared);
void memory_free(struct memory *m);

/* A load or a store of an instruction (site: any number that tells it from others) at a cycle. */
void memory_data(struct memory *m, uint64_t address, uint32_t site, uint64_t cycle,
		 struct memory_access *ret);
/* The line of code at an address. */
void memory_code(struct memory *m, uint64_t address, uint64_t cycle, struct memory_access *ret);

#endif

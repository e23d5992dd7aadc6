/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_WIRE_H
#define CULPRIT_SIM_WIRE_H

#include <stdint.h>

/*
 * What the plugin in qemu and the simulator share: one file, mapped by both, in three parts.
 *
 *   head    struct wire_head: lanes, one for each thread under way, and what could not be followed
 *   code    records one after the other, that are only added: mappings, pages, blocks. A record's
 *           number is its offset / 8. Processes that fork go on with the same.
 *   rings   one for each lane: words of what its thread did, in order
 *
 * The traced program could write to it: the reader believes nothing.
 */
#define WIRE_MAGIC	0x31656361727473ull /* "strace1" */
#define WIRE_LANES	64
#define WIRE_RING_WORDS (1u << 17)
#define WIRE_CODE_BYTES (256u << 20)
#define WIRE_BLOCK_MAX	1024 /* instructions of a block */
#define WIRE_PAGE	4096u
#define WIRE_PUBLISHED	512 /* words are shown to the reader so many at a time */

enum wire_lane_state { WIRE_FREE, WIRE_RUNS, WIRE_ENDED };

struct wire_lane {
	uint32_t state; /* enum wire_lane_state: from the plugin free to runs to ended, back by the
			   reader */
	uint32_t process, thread;
	uint32_t unused;
	/* Words ever written; of them, those that the reader may look at. The first is for when the
	 * process has died. */
	uint64_t written __attribute__((aligned(64)));
	uint64_t shown __attribute__((aligned(64)));
	uint64_t read __attribute__((aligned(64))); /* by the reader */
};

struct wire_head {
	uint64_t magic;
	uint64_t stop;	    /* set by the reader: write no more */
	uint64_t code_used; /* bytes of records */
	uint64_t code_full; /* set when there was no room for one: the trace ends there */
	uint64_t threads_refused, forks, execs, signals;
	struct wire_lane lanes[WIRE_LANES];
};

#define WIRE_CODE_AT  ((sizeof(struct wire_head) + 4095) / 4096 * 4096)
#define WIRE_RINGS_AT (WIRE_CODE_AT + WIRE_CODE_BYTES)
#define WIRE_BYTES    (WIRE_RINGS_AT + (uint64_t)WIRE_LANES * WIRE_RING_WORDS * 8)

/*
 * A word of a ring. Of memory: the address in the lowest 48 bits, the instruction's number in its
 * block in 10, the size as a power of two in 3, and whether it was written. Of a block: its
 * record's number.
 */
#define WIRE_KIND_SHIFT 62
enum wire_kind { WIRE_MEMORY, WIRE_BLOCK };
#define WIRE_ADDRESS_BITS 48
#define WIRE_INDEX_SHIFT  48
#define WIRE_SIZE_SHIFT	  58
#define WIRE_STORE_SHIFT  61

/* Records of code; each begins at a multiple of 8. */
enum wire_record { WIRE_RECORD_MAPPING = 1, WIRE_RECORD_PAGE, WIRE_RECORD_BLOCK };

struct wire_record_head {
	uint32_t kind, bytes; /* of the whole record, this included: written last */
};

struct wire_mapping { /* path_bytes follow */
	struct wire_record_head head;
	uint32_t path_bytes, writable;
};

struct wire_page { /* of code as it was first seen; WIRE_PAGE bytes follow */
	struct wire_record_head head;
	uint64_t address;
	uint64_t offset;	  /* in the mapping's file */
	uint32_t mapping, unused; /* number of its record; 0: none explains it */
};

struct wire_block { /* a byte of size for each instruction follows, then their bytes */
	struct wire_record_head head;
	uint64_t address;
	uint64_t offset; /* in the mapping's file */
	uint32_t mapping;
	uint16_t count, bytes;
};

#endif

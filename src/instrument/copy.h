/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_COPY_H
#define CULPRIT_INSTRUMENT_COPY_H

#include "instrument/code.h"
#include "instrument/plan.h"

/*
 * Makes the copy of a function with the counters of its plan. Instructions stay as they are and in
 * their order, but: direct branches are written with 32 bits of displacement; what is
 * relative to the program counter is moved; calls are jumps back to the original; counters are put
 * between.
 *
 * A counter is one instruction, inc of 8 bytes at %gs. Where the flags it changes are live it is a
 * load, lea and store by a register that is kept below the red zone.
 */

/* Where a copy is to be. */
struct instrument_destination {
	uint64_t bias;	     /* of the image: address in the process less that in the image */
	uint64_t address;    /* of the copy, in the process */
	uint32_t first_slot; /* of its counters in each thread's table */
	uint32_t slots;	     /* of each table; only where paths are counted */
};

/* The most slots of a thread's table: a counter's address is 31 bits. */
#define INSTRUMENT_SLOTS_MAX (1u << 28)

/* The most bytes that the copy will have, wherever it is. */
uint64_t instrument_copy_size_max(const struct instrument_plan *plan);

/*
 * ret: instrument_code_free() it. -ERANGE: the address is too far from the image, or the slots do
 * not fit in a table; -EFBIG: larger than 2^31 bytes; -ENOMEM.
 */
int instrument_copy_new(const struct instrument_plan *plan, const struct instrument_destination *at,
			struct instrument_code *ret);

/*
 * Leads the direct calls of functions straight into the copies of each other: patches of calls
 * (instrument_patch_is_call), for which who puts the copies in has to see that both are there.
 * codes: the copies of the plans, with that bias; of size 0: there is none. 0, -ENOMEM.
 */
int instrument_link_calls(struct instrument_plan *const *plans, struct instrument_code *codes,
			  size_t count, uint64_t bias);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_VALUES_H
#define CULPRIT_BPF_VALUES_H

/* Which values a window reports. How they are taken: values_take.h. */
#include "wire_values.h"

#define VALUE_WATCHES 16 /* a power of two */

struct value_record {
	wire_u64 positions; /* four bits for each stratum */
	wire_u64 pc;	    /* of the instruction that is being interpreted */
	struct wire_place at;
	/* Instructions that were chosen, until they come again. */
	struct {
		wire_u64 pc;
		wire_u64 index; /* in out */
	} watch[VALUE_WATCHES];
	wire_u32 call; /* 1 + where the last call's arguments are, while its function is not
			  reached: on the way there are linkage tables */
	wire_u32 unused;
	struct wire_values out;
};

static inline void values_begin(struct value_record *r, wire_u64 positions)
{
	r->positions = positions;
	r->call = 0;
	r->out.count = 0;
	for (int i = 0; i < VALUE_WATCHES; i++)
		r->watch[i].pc = 0;
}

#endif

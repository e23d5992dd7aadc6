/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_VALUES_H
#define CULPRIT_BPF_WIRE_VALUES_H

/*
 * What a window tells of values, if they are wanted: of 16 of its 256 positions, one at random in
 * each 16, which are chosen before it begins. So the instruction that the sample hit, which is a
 * slow one, is not more likely to be among them than those after it.
 *
 *   values   ring   struct wire_values, cut after the last; BPF_RB_NO_WAKEUP
 */
#include "micro/wire_value.h"
#include "wire_edges.h"

#define WIRE_VALUE_STRATA  16 /* of as many positions each */
#define WIRE_WINDOW_VALUES 32 /* calls take two; a power of two */

struct wire_values {
	wire_u32 process; /* as in struct wire_window */
	wire_u32 count;
	struct wire_value value[WIRE_WINDOW_VALUES];
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_CORES_INTEL_H
#define CULPRIT_MACHINE_CORES_INTEL_H

#include "machine/core_table.h"

/* What Intel's cores have had in common since Skylake. */
enum {
	P0 = 1,
	P1 = 2,
	P2 = 4,
	P3 = 8,
	P4 = 16,
	P5 = 32,
	P6 = 64,
	P7 = 128,
	P8 = 256,
	P9 = 512,
	P10 = 1024,
	P11 = 2048,
};

#define INTEL                                                                              \
	.vendor = "GenuineIntel", .taken_cycles = 1, .l1_cycles = 5, .l1_vector_extra = 1, \
	.binds_ports = true, .vector_forward_extra = 2, .store_forward_cycles = 4,         \
	.locked_cycles = 10, .eliminates_vector_moves = true, .zero_idioms = true,         \
	.fuses_compare = true, .fuses_arithmetic = true

#define INTEL_WORK                                                                            \
	[MACHINE_WORK_SHIFT] = {P0 | P6, 1}, [MACHINE_WORK_BRANCH] = {P0 | P6, 1},            \
	[MACHINE_WORK_BRANCH_TAKEN] = {P6, 1}, [MACHINE_WORK_MUL] = {P1, 3},                  \
	[MACHINE_WORK_BITS] = {P1, 3}, [MACHINE_WORK_VECTOR_ALU] = {P0 | P1 | P5, 1},         \
	[MACHINE_WORK_VECTOR_SHIFT] = {P0 | P1, 1}, [MACHINE_WORK_VECTOR_MUL] = {P0 | P1, 5}, \
	[MACHINE_WORK_FP_MUL] = {P0 | P1, 4}, [MACHINE_WORK_FP_DIV] = {P0, 13, 4},            \
	[MACHINE_WORK_CONVERT] = {P0 | P1, 4}, [MACHINE_WORK_TO_VECTOR] = {P5, 1},            \
	[MACHINE_WORK_FROM_VECTOR] = {P0, 2}

#endif

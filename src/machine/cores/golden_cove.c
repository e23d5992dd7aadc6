/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Golden Cove: the P-cores of Alder Lake, and Sapphire Rapids, which has more cache and no loop
 * buffer. Raptor Cove (Raptor Lake, Emerald Rapids) and Redwood Cove (Granite Rapids, Meteor Lake)
 * are the same to this model. */
#include "machine/core_table.h"

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

#define GOLDEN_COVE                                                                           \
	.vendor = "GenuineIntel", .fetch_bytes = 32, .decode_width = 6, .uop_cache_width = 8, \
	.uop_cache_size = 4096, .taken_cycles = 1, .front_end_stages = 7, .issue_width = 6,   \
	.retire_width = 8, .reorder_buffer = 512, .scheduler = 205, .load_buffer = 192,       \
	.store_buffer = 114, .mispredict_cycles = 17, .l1_cycles = 5, .l1_vector_extra = 1,   \
	.store_forward_cycles = 5, .renames_memory = true, .store_commit_width = 2,           \
	.division32_cycles = 12, .division64_cycles = 10, .locked_cycles = 18,                \
	.eliminates_moves = true, .eliminates_vector_moves = true, .zero_idioms = true,       \
	.eliminates_add_immediate = true, .fuses_compare = true, .fuses_arithmetic = true,    \
	.ports = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11"},  \
	.work = {                                                                             \
		[MACHINE_WORK_ALU] = {P0 | P1 | P5 | P6 | P10, 1},                            \
		[MACHINE_WORK_SHIFT] = {P0 | P6, 1},                                          \
		[MACHINE_WORK_BRANCH] = {P0 | P6, 1},                                         \
		[MACHINE_WORK_BRANCH_TAKEN] = {P6, 1},                                        \
		[MACHINE_WORK_LEA_SLOW] = {P1 | P5, 2},                                       \
		[MACHINE_WORK_MUL] = {P1, 3},                                                 \
		[MACHINE_WORK_DIV] = {P1, 10, 6},                                             \
		[MACHINE_WORK_BITS] = {P1, 3},                                                \
		[MACHINE_WORK_LOAD] = {P2 | P3 | P11, 5},                                     \
		[MACHINE_WORK_STORE_ADDRESS] = {P7 | P8, 1},                                  \
		[MACHINE_WORK_STORE_DATA] = {P4 | P9, 1},                                     \
		[MACHINE_WORK_VECTOR_ALU] = {P0 | P1 | P5, 1},                                \
		[MACHINE_WORK_VECTOR_SHIFT] = {P0 | P1, 1},                                   \
		[MACHINE_WORK_VECTOR_MUL] = {P0 | P1, 5},                                     \
		[MACHINE_WORK_SHUFFLE] = {P1 | P5, 1},                                        \
		[MACHINE_WORK_FP_ADD] = {P1 | P5, 3},                                         \
		[MACHINE_WORK_FP_MUL] = {P0 | P1, 4},                                         \
		[MACHINE_WORK_FP_DIV] = {P0, 13, 4},                                          \
		[MACHINE_WORK_CONVERT] = {P0 | P1, 4},                                        \
		[MACHINE_WORK_TO_VECTOR] = {P5, 1},                                           \
		[MACHINE_WORK_FROM_VECTOR] = {P0, 2},                                         \
	}

const struct machine_core machine_core_alderlake_p = {
	.name = "alderlake-p",
	.title = "Intel Alder Lake P",
	.llvm_cpu = "alderlake",
	.loop_buffer = 144,
	.l2_cycles = 15,
	.l3_cycles = 68,
	.memory_cycles = 400,
	.cache_kbytes = {48, 1280, 30720},
	.dtlb_pages = {96, 2048},
	GOLDEN_COVE,
};

const struct machine_core machine_core_sapphirerapids = {
	.name = "sapphirerapids",
	.title = "Intel Sapphire Rapids",
	.llvm_cpu = "sapphirerapids",
	.l2_cycles = 15,
	.l3_cycles = 100,
	.memory_cycles = 430,
	.cache_kbytes = {48, 2048, 61440},
	.dtlb_pages = {96, 2048},
	GOLDEN_COVE,
};

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* AMD's Zen 2 to 5. Ports: four integer pipes, the branch unit beside them, three address units,
 * four floating point pipes and their store pipe; Zen 5 has six integer pipes and four address
 * units. */
#include "machine/core_table.h"

enum {
	A0 = 1,
	A1 = 2,
	A2 = 4,
	A3 = 8,
	BR = 16,
	G0 = 32,
	G1 = 64,
	G2 = 128,
	F0 = 256,
	F1 = 512,
	F2 = 1024,
	F3 = 2048,
	FS = 4096,
	A4 = 8192,
	A5 = 16384,
	G3 = 32768,
};

#define ALUS (A0 | A1 | A2 | A3)
#define AGUS (G0 | G1 | G2)

#define ZEN                                                                                \
	.vendor = "AuthenticAMD", .fetch_bytes = 32, .decode_width = 4, .taken_cycles = 1, \
	.front_end_stages = 7, .retire_width = 8, .l1_cycles = 4, .l1_vector_extra = 3,    \
	.store_forward_cycles = 7, .renames_memory = true, .eliminates_moves = true,       \
	.eliminates_vector_moves = true, .zero_idioms = true, .fuses_compare = true,       \
	.fuses_memory_immediate = true, .keeps_indexed_fused = true

#define ZEN_PORTS                                                                               \
	{                                                                                       \
		"alu0", "alu1", "alu2", "alu3", "branch", "agu0", "agu1", "agu2", "fp0", "fp1", \
			"fp2", "fp3", "fpstore"                                                 \
	}

#define ZEN_WORK(alus, shift, branch, mul, load, fp_add_cycles, to_vector, from_vector)            \
	{                                                                                          \
		[MACHINE_WORK_ALU] = {alus, 1}, [MACHINE_WORK_SHIFT] = {shift, 1},                 \
		[MACHINE_WORK_BRANCH] = {branch, 1}, [MACHINE_WORK_BRANCH_TAKEN] = {BR, 1},        \
		[MACHINE_WORK_LEA_SLOW] = {alus, 2}, [MACHINE_WORK_MUL] = {mul, 3},                \
		[MACHINE_WORK_DIV] = {A2, 10, 6}, [MACHINE_WORK_BITS] = {ALUS, 1},                 \
		[MACHINE_WORK_LOAD] = {load, 4}, [MACHINE_WORK_STORE_ADDRESS] = {G1 | G2, 1},      \
		[MACHINE_WORK_STORE_DATA] = {0, 1}, /* no port of its own */                       \
			[MACHINE_WORK_VECTOR_ALU] = {F0 | F1 | F2 | F3, 1},                        \
		[MACHINE_WORK_VECTOR_SHIFT] = {F1 | F2, 1},                                        \
		[MACHINE_WORK_VECTOR_MUL] = {F0 | F3, 3}, [MACHINE_WORK_SHUFFLE] = {F1 | F2, 1},   \
		[MACHINE_WORK_FP_ADD] = {F2 | F3, fp_add_cycles},                                  \
		[MACHINE_WORK_FP_MUL] = {F0 | F1, 4}, [MACHINE_WORK_FP_DIV] = {F1, 13, 5},         \
		[MACHINE_WORK_CONVERT] = {F2 | F3, 4}, [MACHINE_WORK_TO_VECTOR] = {FS, to_vector}, \
		[MACHINE_WORK_FROM_VECTOR] = {FS, from_vector},                                    \
	}
#define ZEN_WORK_OLD ZEN_WORK(ALUS, A1 | A2, A0 | BR, A1, AGUS, 3, 3, 3)

const struct machine_core machine_core_zen2 = {
	.name = "zen2",
	.title = "AMD Zen 2",
	.llvm_cpu = "znver2",
	.uop_cache_width = 8,
	.uop_cache_size = 4096,
	.issue_width = 6,
	.reorder_buffer = 224,
	.scheduler = 156,
	.load_buffer = 44,
	.store_buffer = 48,
	.mispredict_cycles = 18,
	.l1_indexed_extra = 1,
	.store_commit_width = 1,
	.locked_cycles = 10,
	.l2_cycles = 12,
	.l3_cycles = 39,
	.memory_cycles = 320,
	.cache_kbytes = {32, 512, 16384},
	.dtlb_pages = {64, 2048},
	.division32_cycles = 12,
	.division64_cycles = 16,
	ZEN,
	.ports = ZEN_PORTS,
	.work = ZEN_WORK_OLD,
};

const struct machine_core machine_core_zen3 = {
	.name = "zen3",
	.title = "AMD Zen 3",
	.llvm_cpu = "znver3",
	.uop_cache_width = 8,
	.uop_cache_size = 4096,
	.issue_width = 6,
	.reorder_buffer = 256,
	.scheduler = 160,
	.load_buffer = 72,
	.store_buffer = 64,
	.mispredict_cycles = 13,
	.l1_indexed_extra = 1,
	.store_commit_width = 2,
	.locked_cycles = 8,
	.l2_cycles = 12,
	.l3_cycles = 46,
	.memory_cycles = 330,
	.cache_kbytes = {32, 512, 32768},
	.dtlb_pages = {64, 2048},
	.division32_cycles = 10,
	.division64_cycles = 10,
	.fuses_arithmetic = true,
	ZEN,
	.ports = ZEN_PORTS,
	.work = ZEN_WORK_OLD,
};

const struct machine_core machine_core_zen4 = {
	.name = "zen4",
	.title = "AMD Zen 4",
	.llvm_cpu = "znver4",
	.uop_cache_width = 9,
	.uop_cache_size = 6912,
	.issue_width = 6,
	.reorder_buffer = 320,
	.scheduler = 160,
	.load_buffer = 88,
	.store_buffer = 64,
	.mispredict_cycles = 13,
	.l1_indexed_extra = 1,
	.store_commit_width = 2,
	.locked_cycles = 8,
	.l2_cycles = 14,
	.l3_cycles = 50,
	.memory_cycles = 400,
	.cache_kbytes = {32, 1024, 32768},
	.dtlb_pages = {72, 3072},
	.division32_cycles = 10,
	.division64_cycles = 10,
	.fuses_arithmetic = true,
	ZEN,
	.ports = ZEN_PORTS,
	.work = ZEN_WORK_OLD,
};

const struct machine_core machine_core_zen5 = {
	.name = "zen5",
	.title = "AMD Zen 5",
	.llvm_cpu = "znver4",
	.llvm_older = "zen4",  /* LLVM 19 knows the name znver5, but gives it this model */
	.uop_cache_width = 12, /* measured: 12 at once after a jump, then 6 a cycle */
	.uop_cache_cycles = 2,
	.uop_cache_size = 6144,
	.issue_width = 8,
	.reorder_buffer = 448,
	.scheduler = 258,
	.load_buffer = 202,
	.store_buffer = 104,
	.mispredict_cycles = 15,
	.store_commit_width = 2,
	.locked_cycles = 13,
	.renames_indexed = true,
	.vector_add_cycles = 2,
	.vector_integer_cycles = 2,
	.l2_cycles = 14,
	.l3_cycles = 50,
	.memory_cycles = 450,
	.cache_kbytes = {48, 1024, 32768},
	.dtlb_pages = {96, 4096},
	.division32_cycles = 10,
	.division64_cycles = 10,
	.fuses_arithmetic = true,
	ZEN,
	.ports = {"alu0", "alu1", "alu2", "alu3", "branch", "agu0", "agu1", "agu2", "fp0", "fp1",
		  "fp2", "fp3", "fpstore", "alu4", "alu5", "agu3"},
	.work = ZEN_WORK(ALUS | A4 | A5, A1 | A2 | A4, A0 | A3 | BR, A0 | A1 | A4, AGUS | G3, 2, 5,
			 4),
};

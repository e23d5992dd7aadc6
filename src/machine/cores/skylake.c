/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Skylake and what has its core: Kaby, Coffee, Comet and Cascade Lake. */
#include "machine/cores/intel.h"

const struct machine_core machine_core_skylake = {
	.name = "skylake",
	.title = "Intel Skylake",
	.llvm_cpu = "skylake-avx512",
	.fetch_bytes = 16,
	.decode_width = 4,
	.uop_cache_width = 6,
	.uop_cache_size = 1536,
	.loop_buffer = 0, /* there, but switched off by microcode (erratum SKL150) */
	.front_end_stages = 6,
	.issue_width = 4,
	.retire_width = 4,
	.reorder_buffer = 224,
	.scheduler = 97,
	.load_buffer = 72,
	.store_buffer = 56,
	.mispredict_cycles = 16,
	.l2_cycles = 14,
	.l3_cycles = 50,
	.memory_cycles = 320,
	.cache_kbytes = {32, 1024, 22528},
	.dtlb_pages = {64, 1536},
	.store_commit_width = 1,
	.division32_cycles = 26,
	.division64_cycles = 42,
	.eliminates_moves = true,
	INTEL,
	.ports = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"},
	.work =
		{
			INTEL_WORK,
			[MACHINE_WORK_ALU] = {P0 | P1 | P5 | P6, 1},
			[MACHINE_WORK_LEA_SLOW] = {P1, 3},
			[MACHINE_WORK_DIV] = {P0, 26, 6},
			[MACHINE_WORK_LOAD] = {P2 | P3, 5},
			[MACHINE_WORK_STORE_ADDRESS] = {P2 | P3 | P7, 1},
			[MACHINE_WORK_STORE_DATA] = {P4, 1},
			[MACHINE_WORK_SHUFFLE] = {P5, 1},
			[MACHINE_WORK_FP_ADD] = {P0 | P1, 4},
		},
};

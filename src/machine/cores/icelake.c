/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sunny Cove: Ice Lake; and Willow and Cypress Cove: Tiger and Rocket Lake. */
#include "machine/cores/intel.h"

const struct machine_core machine_core_icelake = {
	.name = "icelake",
	.title = "Intel Ice Lake",
	.llvm_cpu = "icelake-server",
	.fetch_bytes = 16,
	.decode_width = 5,
	.uop_cache_width = 6,
	.uop_cache_size = 2304,
	.loop_buffer = 70,
	.front_end_stages = 6,
	.issue_width = 5,
	.retire_width = 8,
	.reorder_buffer = 352,
	.scheduler = 160,
	.load_buffer = 128,
	.store_buffer = 72,
	.mispredict_cycles = 17,
	.l2_cycles = 14,
	.l3_cycles = 60,
	.memory_cycles = 340,
	.cache_kbytes = {48, 1280, 32768},
	.dtlb_pages = {64, 2048},
	.store_commit_width = 2,
	.division32_cycles = 12,
	.division64_cycles = 14,
	.eliminates_moves = false, /* of general registers: switched off (erratum ICL065) */
	INTEL,
	.ports = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"},
	.work =
		{
			INTEL_WORK,
			[MACHINE_WORK_ALU] = {P0 | P1 | P5 | P6, 1},
			[MACHINE_WORK_LEA_SLOW] = {P1, 3},
			[MACHINE_WORK_DIV] = {P1, 12, 6},
			[MACHINE_WORK_LOAD] = {P2 | P3, 5},
			[MACHINE_WORK_STORE_ADDRESS] = {P7 | P8, 1},
			[MACHINE_WORK_STORE_DATA] = {P4 | P9, 1},
			[MACHINE_WORK_SHUFFLE] = {P1 | P5, 1},
			[MACHINE_WORK_FP_ADD] = {P0 | P1, 4},
		},
};

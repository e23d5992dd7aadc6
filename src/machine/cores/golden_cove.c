/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Golden Cove: the P-cores of Alder Lake, and Sapphire Rapids, which has more cache and no loop
 * buffer. Raptor Cove (Raptor Lake, Emerald Rapids) and Redwood Cove (Granite Rapids, Meteor Lake)
 * are the same to this model. */
#include "machine/cores/intel.h"

/* Measured on Emerald Rapids (doc/machine.md). */
static const struct machine_exception exceptions[] = {
	{"shl. shr. sar. rol. ror.", .by_register = true, .latency_cycles = 1, .slots = 2,
	 .ports = P0 | P6, .more_ports = P0 | P6,
	 .sum_cycles = 2}, /* by cl, whose flags may not change */
	{"shl. shr. sar. rol. ror. shlx. shrx. sarx. rorx.", .latency_cycles = 1, .slots = 1,
	 .ports = P0 | P6, .sum_cycles = 2},
	{"andn. bls", .latency_cycles = 1},
	{"bswap.", .bits = 64, .latency_cycles = 2, .slots = 2, .ports = P1, .more_ports = P0 | P6,
	 .sum_cycles = 2},
	{"bswap.", .sum_cycles = 2},
	{"adc. sbb. cmov", .sum_cycles = 1},
	{"set", .latency_cycles = 2, .slots = 1, .ports = P0 | P6},
	{"mul.", .bits = 64, .latency_cycles = 3},
	{"addp adds subp subs", .latency_cycles = 3, .chained_cycles = 1},
	/* On the ports 0, 1 and 5 in turn, from one of which to another it takes a cycle more. */
	{"pxor. por. pand padd psub xorp orp andp pblendd.", .latency_cycles = 2},
	{"pmovmskb. movd. movq. movmsk", .latency_cycles = 2},
	{"divsd. divpd. sqrtsd.", .latency_cycles = 13},
	{"hadd", .latency_cycles = 5},
	{"mfence", .latency_cycles = 42}, /* behind a store: 45 to 52 in all */
	{NULL},
};

#define GOLDEN_COVE                                                                          \
	.fetch_bytes = 32, .decode_width = 6, .uop_cache_width = 8, .uop_cache_size = 4096,  \
	.front_end_stages = 7, .issue_width = 6, .retire_width = 8, .reorder_buffer = 512,   \
	.scheduler = 205, .load_buffer = 192, .store_buffer = 114, .mispredict_cycles = 17,  \
	.renames_memory = true, .renames_moves_only = true, .store_commit_width = 2,         \
	.commits_by_line = true, .split_load_uses = 3, .split_store_cycles = 2,              \
	.eliminates_extensions = true, .scaled_lea_is_slow = true, .division32_cycles = 15,  \
	.division64_cycles = 18, .exceptions = exceptions, .eliminates_moves = true,         \
	.eliminates_add_immediate = true,                                                    \
	.ports = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11"}, \
	.work =                                                                              \
		{                                                                            \
			[MACHINE_WORK_ALU] = {P0 | P1 | P5 | P6 | P10, 1},                   \
			[MACHINE_WORK_LEA_SLOW] = {P0 | P1 | P5, 2},                         \
			[MACHINE_WORK_DIV] = {P1, 10, 6},                                    \
			[MACHINE_WORK_LOAD] = {P2 | P3 | P11, 5},                            \
			[MACHINE_WORK_STORE_ADDRESS] = {P7 | P8, 1},                         \
			[MACHINE_WORK_STORE_DATA] = {P4 | P9, 1},                            \
			[MACHINE_WORK_SHUFFLE] = {P1 | P5, 1},                               \
			[MACHINE_WORK_FP_ADD] = {P1 | P5, 3},                                \
			INTEL_WORK,                                                          \
	},                                                                                   \
	INTEL

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

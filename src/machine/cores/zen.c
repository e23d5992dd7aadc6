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
	/* Of Zen 4 instead: pipes by which vectors are loaded, and stored. */
	V0 = 8192,
	V1 = 16384,
	VS = 32768,
};

#define ALUS (A0 | A1 | A2 | A3)
#define AGUS (G0 | G1 | G2)

#define ZEN                                                                                \
	.vendor = "AuthenticAMD", .fetch_bytes = 32, .decode_width = 4, .taken_cycles = 1, \
	.front_end_stages = 7, .retire_width = 8, .l1_cycles = 4, .l1_vector_extra = 3,    \
	.renames_memory = true, .eliminates_own_moves = true, .eliminates_moves = true,    \
	.eliminates_vector_moves = true, .zero_idioms = true, .fuses_compare = true,       \
	.fuses_memory_immediate = true, .keeps_indexed_fused = true

/* From Zen 3 on. */
#define ZEN_LATER                                                                  \
	.store_commit_width = 2, .division32_cycles = 10, .division64_cycles = 10, \
	.fuses_arithmetic = true, ZEN

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

/* Up to Zen 3. */
#define ZEN_SIX_WIDE                                                          \
	.issue_width = 6, .l1_indexed_extra = 1, .store_forward_cycles = 7,   \
	.ports = {"alu0", "alu1", "alu2", "alu3", "branch", "agu0",   "agu1", \
		  "agu2", "fp0",  "fp1",  "fp2",  "fp3",    "fpstore"},       \
	.work = ZEN_WORK(ALUS, A1 | A2, A0 | BR, A1, AGUS, 3, 3, 3)

const struct machine_core machine_core_zen2 = {
	.name = "zen2",
	.title = "AMD Zen 2",
	.llvm_cpu = "znver2",
	.uop_cache_width = 8,
	.uop_cache_size = 4096,
	.reorder_buffer = 224,
	.scheduler = 156,
	.load_buffer = 44,
	.store_buffer = 48,
	.mispredict_cycles = 18,
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
	ZEN_SIX_WIDE,
};

/* Measured (doc/machine.md). */
static const struct machine_exception zen4_exceptions[] = {
	{"tzcnt. bsf. bsr.", .latency_cycles = 1, .slots = 1, .ports = ALUS},
	{"pdep. pext. crc32.", .latency_cycles = 3, .ports = A1},
	{"psrldq. pslldq. pshufb. palignr. pack", .latency_cycles = 2, .slots = 1,
	 .ports = F1 | F2},
	{"psll psrl psra", .ports = F2 | F3},
	{"pmul pmadd", .latency_cycles = 3, .ports = F0 | F1},
	{"pshuf shufp unpck punpck", .latency_cycles = 1, .slots = 1, .ports = F1 | F2 | F3},
	{"pavg", .latency_cycles = 2, .ports = F0 | F1 | F2 | F3},
	{"cmpp maxp minp maxs mins", .latency_cycles = 2, .ports = F2 | F3},
	{"fmadd fmsub fnmadd fnmsub", .latency_cycles = 4},
	{"blendps. blendpd.", .latency_cycles = 1, .ports = F0 | F1 | F2 | F3},
	{"cvtsi2", .by_register = true, .latency_cycles = 7},
	{"cvttsd2si. cvttss2si. cvtsd2si. cvtss2si.", .by_register = true, .latency_cycles = 5},
	{"xadd.", .latency_cycles = 1},
	{"cmpxchg.", .latency_cycles = 2},
	{"mfence.", .latency_cycles = 47},
	{"lfence.", .latency_cycles = 13},
	{NULL},
};

static const struct machine_exception zen3_exceptions[] = {
	{"tzcnt.", .latency_cycles = 2, .slots = 2, .ports = ALUS, .more_ports = ALUS},
	{"pdep. pext. crc32.", .latency_cycles = 3, .ports = A1},
	{"pshuf shufp unpck punpck psrldq. pslldq. palignr. pack pmovzx pmovsx insertps. movhlps. "
	 "movlhps. movddup. movshdup. movsldup. broadcast",
	 .latency_cycles = 1, .slots = 1, .ports = F1 | F2},
	{"psll psrl psra", .ports = F1 | F2},
	{"pmul pmadd psadbw.", .latency_cycles = 3, .ports = F0 | F3},
	{"cvtsi2", .by_register = true, .latency_cycles = 7},
	{"cvttsd2si. cvttss2si. cvtsd2si. cvtss2si.", .by_register = true, .latency_cycles = 6},
	{"cmpp cmps maxp minp maxs mins pavg", .latency_cycles = 1},
	{"fmadd fmsub fnmadd fnmsub", .latency_cycles = 4},
	{"blendps. blendpd.", .latency_cycles = 1, .ports = F0 | F1 | F2 | F3},
	{"xadd.", .latency_cycles = 1},
	{"cmpxchg.", .latency_cycles = 2},
	{"mfence.", .latency_cycles = 47},
	{"lfence.", .latency_cycles = 13},
	{NULL},
};

#define ZEN_MEASURED_WORK(to_vector, from_vector)                                                  \
	{                                                                                          \
		[MACHINE_WORK_ALU] = {ALUS, 1}, [MACHINE_WORK_SHIFT] = {A1 | A2, 1},               \
		[MACHINE_WORK_BRANCH] = {A0 | A3, 1}, [MACHINE_WORK_BRANCH_TAKEN] = {BR, 1},       \
		[MACHINE_WORK_LEA_SLOW] = {ALUS, 2, 2}, [MACHINE_WORK_MUL] = {A1, 3},              \
		[MACHINE_WORK_DIV] = {A2, 10, 6}, [MACHINE_WORK_BITS] = {ALUS, 1},                 \
		[MACHINE_WORK_LOAD] = {AGUS, 4}, [MACHINE_WORK_STORE_ADDRESS] = {AGUS, 1},         \
		[MACHINE_WORK_STORE_DATA] = {0, 1},                                                \
		[MACHINE_WORK_VECTOR_ALU] = {F0 | F1 | F2 | F3, 1},                                \
		[MACHINE_WORK_VECTOR_SHIFT] = {F2 | F3, 1},                                        \
		[MACHINE_WORK_VECTOR_MUL] = {F0 | F1, 3},                                          \
		[MACHINE_WORK_SHUFFLE] = {F1 | F2 | F3, 1}, [MACHINE_WORK_FP_ADD] = {F2 | F3, 3},  \
		[MACHINE_WORK_FP_MUL] = {F0 | F1, 3}, [MACHINE_WORK_FP_DIV] = {F1, 13, 5},         \
		[MACHINE_WORK_CONVERT] = {F2 | F3, 3}, [MACHINE_WORK_TO_VECTOR] = {FS, to_vector}, \
		[MACHINE_WORK_FROM_VECTOR] = {FS, from_vector},                                    \
	}

/* Zen 3 and 4, both measured (doc/machine.md). */
#define ZEN_MEASURED                                                                            \
	.issue_width = 6, .uop_cache_joins_lines = true, .mispredict_cycles = 13,               \
	.locked_cycles = 0, /* beside what a store and a load take; 6 to 7.5 in all */          \
		.locks_overlap = true, .fences_serialise = true, .l1_indexed_extra = 1,         \
	.plain_index_is_free = true, .renames_indexed = true, .renames_same_places = true,      \
	.vector_forward_extra = 3, .work_forward_extra = 1, .commits_by_line = true,            \
	.split_load_uses = 2, .split_store_cycles = 2, .store_bytes = 32, .lea_index_early = 1, \
	.compares_are_idioms = true, .loads_retire_apart = true, .binds_ports = true,           \
	.vector_load_ports = V0 | V1, .vector_store_ports = VS, .vector_bits = 256,             \
	.store_forward_cycles = 5, .store_drain_cycles = 13,                                    \
	.ports = {"alu0", "alu1", "alu2", "alu3", "branch",  "agu0",	"agu1",	   "agu2",      \
		  "fp0",  "fp1",  "fp2",  "fp3",  "fpstore", "fpload0", "fpload1", "fpwrite"}

const struct machine_core machine_core_zen3 = {
	.name = "zen3",
	.title = "AMD Zen 3",
	.llvm_cpu = "znver3",
	.uop_cache_width = 8,
	.uop_cache_size = 4096,
	.reorder_buffer = 256,
	.scheduler = 160,
	.load_buffer = 72,
	.store_buffer = 64,
	.l2_cycles = 12,
	.l3_cycles = 46,
	.memory_cycles = 330,
	.cache_kbytes = {32, 512, 32768},
	.dtlb_pages = {64, 2048},
	.uop_cache_cells = 12,
	.vector_domain_cycles = 1,
	.exceptions = zen3_exceptions,
	ZEN_LATER,
	ZEN_MEASURED,
	.work = ZEN_MEASURED_WORK(3, 3),
};

const struct machine_core machine_core_zen4 = {
	.name = "zen4",
	.title = "AMD Zen 4",
	.llvm_cpu = "znver4",
	.uop_cache_width = 9,
	.uop_cache_size = 6912,
	.uop_cache_cells = 12,
	.reorder_buffer = 320,
	.scheduler = 160,
	.load_buffer = 88,
	.store_buffer = 64,
	.l2_cycles = 14,
	.l3_cycles = 50,
	.memory_cycles = 400,
	.cache_kbytes = {32, 1024, 32768},
	.dtlb_pages = {72, 3072},
	.fuses_nops = true,
	.exceptions = zen4_exceptions,
	ZEN_LATER,
	ZEN_MEASURED,
	.work = ZEN_MEASURED_WORK(5, 2),
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
	.locked_cycles = 13,
	.store_forward_cycles = 7,
	.renames_indexed = true,
	.vector_add_cycles = 2,
	.vector_integer_cycles = 2,
	.l2_cycles = 14,
	.l3_cycles = 50,
	.memory_cycles = 450,
	.cache_kbytes = {48, 1024, 32768},
	.dtlb_pages = {96, 4096},
	ZEN_LATER,
	.ports = {"alu0", "alu1", "alu2", "alu3", "branch", "agu0", "agu1", "agu2", "fp0", "fp1",
		  "fp2", "fp3", "fpstore", "alu4", "alu5", "agu3"},
	.work = ZEN_WORK(ALUS | A4 | A5, A1 | A2 | A4, A0 | A3 | BR, A0 | A1 | A4, AGUS | G3, 2, 5,
			 4),
};

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_CORE_H
#define CULPRIT_MACHINE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Processor cores: what each can do in a cycle and how much it holds in flight. One file per maker
 * and generation under cores/; doc/machine.md names the sources of the figures.
 *
 * A core is found by what CPUID says of the processor, here or on the machine that recorded a
 * profile. One that is not in the tables gets the nearest, and the description says so.
 */

/* Kinds of work that the built-in costs know; a core gives each its ports. */
enum machine_work {
	MACHINE_WORK_ALU,
	MACHINE_WORK_SHIFT,
	MACHINE_WORK_BRANCH, /* not taken, or predicted so */
	MACHINE_WORK_BRANCH_TAKEN,
	MACHINE_WORK_LEA_SLOW, /* three parts, or scaled where that is slow */
	MACHINE_WORK_MUL,
	MACHINE_WORK_DIV,
	MACHINE_WORK_BITS, /* popcnt, lzcnt, pdep, crc32 */
	MACHINE_WORK_LOAD,
	MACHINE_WORK_STORE_ADDRESS,
	MACHINE_WORK_STORE_DATA,
	MACHINE_WORK_VECTOR_ALU, /* integer and logic */
	MACHINE_WORK_VECTOR_SHIFT,
	MACHINE_WORK_VECTOR_MUL,
	MACHINE_WORK_SHUFFLE,
	MACHINE_WORK_FP_ADD,
	MACHINE_WORK_FP_MUL, /* also fused multiply-add */
	MACHINE_WORK_FP_DIV,
	MACHINE_WORK_CONVERT,
	MACHINE_WORK_TO_VECTOR,	  /* general register to vector */
	MACHINE_WORK_FROM_VECTOR, /* and back */
	MACHINE_WORKS,
};

/* How one kind of work is done: ports (a mask of the core's own numbers), cycles until the result,
 * cycles that it keeps its port (0: one). */
struct machine_work_cost {
	uint16_t ports;
	uint8_t latency_cycles, busy_cycles;
};

#define MACHINE_CORE_PORTS_MAX 16
#define MACHINE_OVERRIDES_MAX  12

/*
 * Instructions whose measured cost on a core differs from what LLVM's model and their kind of work
 * say. What is 0 stays as it was.
 */
struct machine_exception {
	const char *names; /* as machine_name_fits takes them */
	uint16_t bits;	   /* of the first operand */
	bool by_register;  /* only where the second operand is a register */
	uint8_t latency_cycles, slots;
	uint16_t ports, more_ports; /* of one operation, and of a second one */
	/* Cycles by which its result is ready earlier for another with chained_cycles; cycles it
	 * waits longer for a sum that renaming did. */
	uint8_t chained_cycles, sum_cycles;
};

struct machine_core {
	const char *name;     /* "zen4", for options and facts */
	const char *title;    /* "AMD Zen 4" */
	const char *vendor;   /* of CPUID: "AuthenticAMD" */
	const char *llvm_cpu; /* LLVM's name, for its scheduling model */

	/* Front end. The legacy decoders take fetch_bytes and decode_width instructions a cycle;
	 * the cache of decoded operations uop_cache_width operations; a loop that fits loop_buffer
	 * operations (0: none) needs neither. */
	uint8_t fetch_bytes, decode_width, uop_cache_width;
	uint8_t uop_cache_cycles; /* for a group of that width without a taken branch; 0: one */
	/* A group there has room for so many operations and 32-bit constants together; 0: any
	 * number. */
	uint8_t uop_cache_cells;
	bool uop_cache_joins_lines; /* a group there may go on in the next line */
	uint16_t uop_cache_size, loop_buffer;
	uint8_t taken_cycles;	  /* from one taken branch to the next that can be fetched */
	uint8_t front_end_stages; /* cycles from fetch to issue */

	/* Width of renaming ("issue" in this house; Intel: allocation, AMD: dispatch) and of
	 * retirement, in fused operations a cycle; how many operations are in flight. */
	uint8_t issue_width, retire_width;
	uint16_t reorder_buffer, scheduler, load_buffer, store_buffer;
	bool binds_ports; /* when it renames, not when an operation may run */

	/* Latencies in cycles: of loads to an integer register, with what an index adds and what a
	 * vector register adds. */
	uint8_t mispredict_cycles;
	uint8_t l1_cycles, l1_indexed_extra, l1_vector_extra, l2_cycles, l3_cycles;
	bool plain_index_is_free;     /* base and index alone, not scaled, add nothing */
	uint16_t memory_cycles;	      /* about, at 4 GHz and one socket */
	uint32_t cache_kbytes[3];     /* of data; the third as on most of these processors */
	uint16_t dtlb_pages[2];	      /* of 4 KB, that the first and second level translate */
	uint8_t store_forward_cycles; /* from the stored data to the load's result */
	/* From a store's commit until a load of more than it stored may read the cache; 0: as
	 * store_forward_cycles. */
	uint8_t store_drain_cycles;
	bool renames_memory;  /* a load finds its store when it is renamed: no latency */
	bool renames_indexed; /* also with an index */
	/* But not for what an instruction loaded, changed by a register and stored, which takes a
	 * cycle or two more instead, and not by loads that extend. */
	bool renames_moves_only;
	/* But only by plain moves of 32 or 64 bits and updates of memory that begin where general
	 * registers were stored; one such move a cycle. */
	bool renames_same_places;
	uint8_t vector_forward_extra; /* cycles, by loads of vectors */
	uint8_t work_forward_extra;   /* by loads that are part of arithmetic */
	uint8_t store_commit_width;   /* stores that reach the first cache in a cycle... */
	bool commits_by_line;	      /* ...if they are of one line */
	uint8_t split_load_uses;      /* of ports, by a load across two lines... */
	uint8_t split_store_cycles; /* ...and cycles that such a store takes there; 0: as others */
	uint8_t store_bytes; /* of a line, which is split for stores into parts of so many; 0: is
				not */
	uint8_t division32_cycles, division64_cycles; /* of small operands */
	uint8_t locked_cycles;			      /* a locked operation in the first cache */
	bool locks_overlap;    /* such a one waits for the last one alone, and loads for none */
	bool fences_serialise; /* also what does not touch memory waits for mfence */

	/* LLVM's model is that of an older core: some kinds of work have more ports here; the
	 * latency of floating-point additions, and of vector work to which it gives one cycle (0:
	 * as LLVM says). */
	const char *llvm_older; /* name of that core; NULL: LLVM has a model of this one */
	uint8_t vector_add_cycles, vector_integer_cycles;

	/* What renaming does away with. */
	bool eliminates_moves, eliminates_vector_moves;
	bool eliminates_own_moves; /* also from a register to itself */
	bool zero_idioms;
	bool eliminates_add_immediate; /* small ones, also inc, dec and lea */
	bool eliminates_extensions;    /* movzx of a byte, to another register */
	bool scaled_lea_is_slow;       /* an index times more than one; three parts are not */
	uint8_t lea_index_early;  /* cycles of a slow one that are over before it needs its index */
	bool compares_are_idioms; /* of a register with itself: wait for nothing */

	/* Fusion: cmp, test and other flag-writing arithmetic with a conditional jump after it. */
	bool fuses_compare, fuses_arithmetic;
	bool fuses_memory_immediate; /* a cmp of memory with an immediate too */
	bool loads_retire_apart;     /* a pair whose first one loads retires as two */
	bool fuses_nops;	     /* with what stands before them */
	bool keeps_indexed_fused; /* load and operation fused through renaming also with an index */

	/* The core's ports, for the built-in costs. */
	const char *ports[MACHINE_CORE_PORTS_MAX]; /* names; NULL after the last */
	struct machine_work_cost work[MACHINE_WORKS];
	/* Ports that a vector load and store need beside those of any other; 0: none, or as LLVM
	 * says. Vectors wider than vector_bits (0: none are) keep ports for two cycles. */
	uint16_t vector_load_ports, vector_store_ports, vector_bits;
	/* Cycles that a result takes from vector work on integers to that on floating-point
	 * numbers, and back. */
	uint8_t vector_domain_cycles;
	const struct machine_exception *exceptions; /* up to one without names; NULL: none */
	/* What was measured on one machine (tune.c), over all others; up to one without names. */
	struct machine_exception overrides[MACHINE_OVERRIDES_MAX];
};

/* What CPUID says of a processor. Virtual machines often show the family and model of an older
 * one, but not instructions and caches that the processor does not have. */
struct machine_cpu {
	char vendor[16];
	unsigned family, model, stepping;  /* with the extended parts added in */
	uint32_t features[3];		   /* leaf 7: EBX, ECX, EDX; 0: not known */
	unsigned code_kbytes, data_kbytes; /* of the first cache */
};

/* This processor. False where there is no CPUID. */
bool machine_cpu_here(struct machine_cpu *ret);
/* The text of the fact "cpu-id" of a profile ("AuthenticAMD 25 97 2", and, where they are known,
 * features in hex and sizes: " d19ff7a9 405fce 10 32 32") and back: 0 or -EINVAL. */
#define MACHINE_CPU_TEXT 64
void machine_cpu_format(const struct machine_cpu *cpu, char out[MACHINE_CPU_TEXT]);
int machine_cpu_parse(const char *text, struct machine_cpu *ret);

enum machine_match {
	MACHINE_MATCH_EXACT,
	MACHINE_MATCH_FEATURES, /* it has what the core of its family and model lacks */
	MACHINE_MATCH_MEASURED, /* its loops take the time that they take on that core */
	MACHINE_MATCH_NEAREST,	/* the same maker's nearest generation */
	MACHINE_MATCH_NONE,	/* an unknown vendor: a middling core as the default */
};

/* Whether a processor may have a core that machine_core_find did not find: one of its vendor's (of
 * anyone's if the vendor is unknown), and none older than the one that its features and caches
 * name. */
bool machine_core_may_be(const struct machine_cpu *cpu, const struct machine_core *core);

/* The core of a processor; never NULL. */
const struct machine_core *machine_core_find(const struct machine_cpu *cpu,
					     enum machine_match *ret_match);
/* The core of the processor that this runs on; never NULL. */
const struct machine_core *machine_core_detect(enum machine_match *ret_match);
/* By name ("zen4", "skylake"); NULL when there is none. */
const struct machine_core *machine_core_by_name(const char *name);
/* The cores by number, from 0; NULL after the last. */
const struct machine_core *machine_core_at(size_t index);

/* One clause for reports: "AMD Zen 4", or "AMD Zen 4 (the nearest; this processor, AuthenticAMD
 * family 27 model 1, is not known)". Returns out. cpu may be NULL when match is exact. */
const char *machine_core_describe(const struct machine_core *core, const struct machine_cpu *cpu,
				  enum machine_match match, char *out, size_t room);

#endif

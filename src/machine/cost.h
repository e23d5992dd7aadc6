/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_COST_H
#define CULPRIT_MACHINE_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "isa/operands.h"
#include "machine/core.h"
#include "util/diag.h"

/*
 * What an instruction costs on a core: operations, ports, latencies, and which registers tie it to
 * others. From LLVM's scheduling models, whose known flaws are corrected here (doc/machine.md), or,
 * where LLVM is not installed, from our own tables, which know only kinds of work.
 *
 * A model is a core with a source of costs. It remembers the cost of every form of instruction that
 * it has seen, so LLVM's time is spent once per form. Not for two threads at once.
 */
struct machine_model;

enum machine_source {
	MACHINE_SOURCE_BEST, /* LLVM, else built in */
	MACHINE_SOURCE_LLVM, /* or fail */
	MACHINE_SOURCE_BUILTIN,
};

/* For a core, 64-bit code. -ENOENT: LLVM was asked for and is missing (with what to install). */
int machine_model_new(const struct machine_core *core, enum machine_source source,
		      struct machine_model **ret, struct diag *diag);
void machine_model_free(struct machine_model *m);

const struct machine_core *machine_model_core(const struct machine_model *m);
/* Where costs come from: "LLVM 19.1.7 (znver4)", or "built-in tables (LLVM 19 is not installed)".
 * Owned by m. */
const char *machine_model_source(const struct machine_model *m);

#define MACHINE_PORTS_MAX 64
#define MACHINE_USES_MAX                                                        \
	12 /* of ports by one instruction; what is more is left out and counted \
	    */
#define MACHINE_READS_MAX  10
#define MACHINE_WRITES_MAX 6

/* count operations, each of which keeps one of a set of ports for so many cycles. */
struct machine_use {
	uint64_t ports; /* mask */
	uint16_t count, cycles;
};

/* Which vector units do the work: results wait on their way to the other ones. */
enum machine_domain {
	MACHINE_DOMAIN_NONE, /* none, or moves, which leave a value where it is */
	MACHINE_DOMAIN_INTEGER,
	MACHINE_DOMAIN_FLOAT,
};

/* What an instruction costs. Loads come first, then the work that needs them, then stores. */
struct machine_cost {
	struct machine_use uses[MACHINE_USES_MAX];
	uint8_t load_uses, work_uses, store_uses; /* in this order in uses[] */
	uint8_t slots;				  /* of renaming and retirement: fused operations */
	uint8_t loads, stores;			  /* entries of the load and the store buffer */
	uint16_t latency; /* from its inputs (loaded ones too) to its results */
	uint64_t divider; /* the port that is a divider and busy for long; 0: none */
	uint8_t chained;  /* cycles that its result is there earlier for others of which this is not
			     0 */
	uint8_t sum_wait; /* extra cycles for a register to which renaming added a constant */
	uint8_t domain;	  /* enum machine_domain of its inputs and its result */
	uint8_t second_late; /* cycles that its second input may come later than the first */
	bool known;	     /* false: the source lacks it, this is the cost of its kind of work */
	bool microcoded;
};

/* The carry flag is ISA_REG_FLAGS, the other flags of arithmetic are renamed together as this: so
 * dec does not wait for the carry, nor adc for dec. */
#define MACHINE_REG_STATUS ISA_REG_COUNT
#define MACHINE_REG_COUNT  (ISA_REG_COUNT + 1)

/* How an instruction stands out. */
enum machine_trait {
	MACHINE_ELIMINATED = 1 << 0, /* a move that renaming does */
	MACHINE_ZERO = 1 << 1,	     /* an idiom: depends on nothing, needs no port */
	MACHINE_BRANCH = 1 << 2,     /* any jump, call or return */
	MACHINE_CONDITIONAL = 1 << 3,
	MACHINE_LOCKED = 1 << 4,
	MACHINE_FENCE = 1 << 5,	 /* later loads and stores wait for it */
	MACHINE_SERIAL = 1 << 6, /* everything later waits for it */
	MACHINE_DIVIDES = 1 << 7,
	MACHINE_FUSES = 1 << 8, /* macro-fused with the conditional jump after it */
	MACHINE_FUSED = 1 << 9, /* that jump: no operation of its own */
	MACHINE_VECTOR_LOAD = 1 << 10,
	MACHINE_STACK = 1 << 11, /* push, pop, call, ret: the front end keeps the stack pointer */
	MACHINE_LOADS = 1 << 12,
	MACHINE_STORES = 1 << 13,
	MACHINE_PREFETCH = 1 << 14, /* a load that nothing waits for */
	MACHINE_INVALID = 1 << 15,  /* bytes that are not an instruction */
};

/* One instruction made ready for the simulator. Plain data. */
struct machine_instruction {
	uint64_t address;
	int64_t memory_value; /* of the memory operand, if it has one: see isa_operand's value */
	int64_t adds;  /* a constant that it adds to a register and does nothing else to it */
	uint32_t cost; /* number of its cost in the model */
	uint16_t traits;
	uint16_t mnemonic; /* as in isa_operands */
	uint8_t size, memory_bytes;
	uint8_t constants;		     /* of 32 bits in its code; 64 bits: two */
	uint8_t base, index, scale, segment; /* of the memory operand, ISA_REG_NONE: none */
	uint8_t adds_to, adds_from;	     /* the register of adds, or ISA_REG_NONE */
	uint8_t condition;		     /* as in isa_operands */
	uint8_t address_count, read_count, write_count;
	/* Register numbers of isa/operands.h, and MACHINE_REG_STATUS. The first address_count of
	 * reads form an address; the work needs the rest. */
	uint8_t reads[MACHINE_READS_MAX], writes[MACHINE_WRITES_MAX];
};

/*
 * Makes the instruction at the start of code ready. Bytes that are not an instruction give one of
 * size 1 that costs one slot. Returns false then. size must not be 0.
 */
bool machine_prepare(struct machine_model *m, const uint8_t *code, size_t size, uint64_t address,
		     struct machine_instruction *ret);

/* Marks the pairs of a straight list that this core fuses. Call it once per list, after preparing.
 */
void machine_fuse(const struct machine_model *m, struct machine_instruction *list, size_t count);

/* The cost of an instruction; valid until the next machine_prepare. */
const struct machine_cost *machine_cost_of(const struct machine_model *m,
					   const struct machine_instruction *in);

/* Forms of instruction seen, those that the source of costs lacks, those past the maximum (they get
 * the cost of their kind of work), and registers and uses of ports left out, since the start. */
struct machine_counters {
	uint64_t forms, forms_unknown, forms_refused, registers_left_out, uses_left_out;
};
void machine_read_counters(const struct machine_model *m, struct machine_counters *ret);

#endif

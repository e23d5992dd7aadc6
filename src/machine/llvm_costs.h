/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LLVM_COSTS_H
#define CULPRIT_MACHINE_LLVM_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * LLVM's scheduling models behind C. The module culprit-llvm.so holds it (llvm_costs.cc) and is the
 * only part that links to LLVM; llvm_load.c loads it when a model is first asked for.
 */
#ifdef __cplusplus
extern "C" {
#endif

struct llvm_costs;

#define LLVM_COSTS_ABI	     1
#define LLVM_COSTS_USES_MAX  24
#define LLVM_COSTS_UNITS_MAX 64

/* What LLVM says of one instruction, with the uses of groups less what the uses of their members
 * already count in them. */
struct llvm_costs_form {
	uint16_t operations; /* micro-operations, not fused */
	uint16_t latency;    /* the longest of its results, a load included */
	/* The most cycles that one of its inputs may come late: the load that the latency includes,
	 * 0 when LLVM does not say. */
	uint16_t input_advance;
	uint8_t size;
	uint8_t use_count;
	bool loads, stores;
	struct {
		uint64_t units; /* any one of */
		uint16_t cycles;
	} uses[LLVM_COSTS_USES_MAX];
	uint16_t uses_left_out;
};

struct llvm_costs_table {
	unsigned abi;
	const char *version; /* of LLVM: "19.1.7" */
	/* A model of x86-64 by LLVM's name of the processor; NULL with a sentence in error. */
	struct llvm_costs *(*open)(const char *cpu, char *error, size_t room);
	void (*close)(struct llvm_costs *c);
	/* Units by number; NULL after the last. */
	const char *(*unit)(const struct llvm_costs *c, unsigned number);
	/* Of the instruction at the start of code. False: LLVM or its model does not know it. */
	bool (*form)(struct llvm_costs *c, const uint8_t *code, size_t size,
		     struct llvm_costs_form *ret);
};

/* The module's one symbol. */
extern const struct llvm_costs_table culprit_llvm_costs;

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_CODE_H
#define CULPRIT_SIM_CODE_H

#include "isa/decode.h"
#include "machine/cost.h"
#include "sim/trace.h"

/*
 * The code of a traced program, as blocks that are ready for the simulator: those that ran, and,
 * for the wrong path, those that did not, from the pages around what ran.
 */
struct sim_code;

/* An instruction of the program, wherever blocks have it. */
struct sim_site {
	uint64_t address;
	uint64_t offset;  /* in the mapping's file */
	uint32_t mapping; /* number for sim_code_path() */
};

struct sim_op {
	struct machine_instruction in;
	uint64_t target; /* of a direct branch, else ISA_NO_ADDRESS */
	uint32_t site;
	uint8_t branch; /* enum isa_branch */
	bool repeats, indirect;
	uint8_t slots; /* of renaming */
};

struct sim_block {
	uint64_t address, end;
	struct sim_op *ops;
	uint32_t count;
};

#define SIM_SITES_MAX (1u << 22)

/* model and trace must outlive it. -ENOMEM. */
int sim_code_new(struct machine_model *model, struct sim_trace *trace, struct sim_code **ret,
		 struct diag *diag);
void sim_code_free(struct sim_code *c);

/* A block that ran, by its record's number. NULL: there is no sound one of that number, or no
 * memory for it. */
const struct sim_block *sim_code_block(struct sim_code *c, uint32_t number);
/* What starts at an address, run or not; NULL: nobody knows. */
const struct sim_block *sim_code_at(struct sim_code *c, uint64_t address);

const struct sim_site *sim_code_site(const struct sim_code *c, uint32_t site);
/* The file of a mapping: not terminated; "" where there is none. writable: it may change as it
 * runs. */
const char *sim_code_path(const struct sim_code *c, uint32_t mapping, size_t *ret_size,
			  bool *ret_writable);
/* Whether what is at an address is an instruction of AVX-512, which qemu lacks. */
bool sim_code_is_wide(struct sim_code *c, uint64_t address);

#endif

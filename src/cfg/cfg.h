/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_CFG_H
#define CULPRIT_CFG_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cfg/source.h"
#include "isa/decode.h"
#include "util/diag.h"

/*
 * Control-flow graphs of an image's functions, from machine code alone (doc/cfg.md). Functions are
 * built when they are asked for and kept. A function is where .eh_frame, symbols and calls say one
 * starts; its graph is what control flow reaches from there, in as many address ranges as it takes
 * (a split-off .cold part belongs to its function).
 *
 * What could not be found out is said: a function with an indirect jump of unknown targets is not
 * complete, and the reasons are counted.
 */
struct cfg_image;

/* The other end of an edge that comes from outside of the function or leaves it. */
#define CFG_OUTSIDE UINT32_MAX

enum cfg_edge_kind {
	CFG_FALL_THROUGH, /* also: a conditional branch that is not taken */
	CFG_TAKEN,	  /* a conditional branch that is */
	CFG_JUMP,	  /* a direct unconditional jump */
	CFG_INDIRECT,	  /* through a jump table */
	CFG_AFTER_CALL,	  /* to the instruction that the call returns to */
	CFG_RETURN,	  /* to CFG_OUTSIDE: the function ends */
	CFG_TAIL,	  /* to CFG_OUTSIDE: a jump, or a fall through, into another function */
	CFG_MISSING,	  /* to CFG_OUTSIDE: nobody knows where to; the function is not complete */
	CFG_ENTER,	  /* from CFG_OUTSIDE: the entry */
	CFG_LANDING,	  /* from CFG_OUTSIDE: a landing pad, entered by the unwinder */
};

struct cfg_edge {
	uint32_t from, to; /* blocks, or CFG_OUTSIDE */
	uint8_t kind;	   /* enum cfg_edge_kind */
};

enum cfg_block_flag {
	CFG_BLOCK_ENTRY = 1,
	CFG_BLOCK_LANDING = 2,	 /* a landing pad */
	CFG_BLOCK_MISSING = 4,	 /* not all of its successors are known */
	CFG_BLOCK_NO_RETURN = 8, /* ends in a call that does not return */
	CFG_BLOCK_STOP = 16,	 /* ends in an instruction that goes nowhere: ud2, hlt */
};

/* A block ends with any branch or call, or before the start of another. */
struct cfg_block {
	uint64_t start, end; /* end: past the last instruction */
	uint32_t first_instruction, instruction_count;
	uint32_t first_succ, succ_count; /* in edges */
	uint32_t first_pred, pred_count; /* in preds */
	uint32_t flags;			 /* enum cfg_block_flag, or'ed */
};

struct cfg_call {
	uint32_t instruction;
	bool tail;	  /* a jump that leaves the function */
	bool returns;	  /* false: proven not to return. Of a tail call: as its target does */
	uint64_t target;  /* ISA_NO_ADDRESS: indirect. May be a PLT entry of the image */
	const char *name; /* of what is outside of the image (through PLT or GOT), else NULL; the
			     image's */
};

/* Why a function is not complete. */
enum cfg_reason {
	CFG_WHY_INDIRECT, /* an indirect jump whose table could not be proven */
	CFG_WHY_TABLE,	  /* a jump table that is not in the image, or leads out of the code */
	CFG_WHY_DECODE,	  /* flow reaches bytes that are not an instruction */
	CFG_WHY_CODE,	  /* flow reaches addresses of which there is no code */
	CFG_WHY_LIMIT,	  /* larger than CFG_INSTRUCTIONS_MAX */
	CFG_REASONS,
};
const char *cfg_reason_text(enum cfg_reason why);

struct cfg_range {
	uint64_t start, end;
};

#define CFG_INSTRUCTIONS_MAX (4u << 20) /* of one function */

/* Owned by the image, immutable. All lists are in ascending order of address. */
struct cfg_function {
	const struct cfg_image *image; /* whose it is */
	uint64_t entry;
	uint64_t low, high;	  /* of all ranges */
	struct cfg_range *ranges; /* the code that was reached, by address */
	uint32_t range_count;
	uint32_t entry_block; /* CFG_OUTSIDE: there is no instruction at the entry */
	struct isa_instruction *instructions; /* may overlap each other, in hand-written code */
	uint32_t instruction_count;
	struct cfg_block *blocks;
	uint32_t block_count;
	/*
	 * First the successors of block 0, then of block 1, ... (fall-through first), then the
	 * edges from CFG_OUTSIDE. preds are indexes into it, ordered by the block they lead to.
	 */
	struct cfg_edge *edges;
	uint32_t edge_count;
	uint32_t *preds;
	struct cfg_call *calls; /* by instruction */
	uint32_t call_count;
	bool complete;
	bool returns; /* false: proven that it never does */
	uint32_t why[CFG_REASONS];
	uint32_t tables_proven;	  /* jump tables whose size the code proves */
	uint32_t tables_inferred; /* whose size follows from where the next one begins, or from the
				     first entry that leads out of the function */
};

/* Code at the address, up to the end of its region; NULL when there is none. The image's. */
const uint8_t *cfg_code_at(const struct cfg_image *image, uint64_t address, size_t *ret_size);

/* source is borrowed, and must stay until the image is freed. 0, -EOPNOTSUPP, -ENOMEM. */
int cfg_image_new(const struct cfg_source *source, struct cfg_image **ret, struct diag *diag);
void cfg_image_free(struct cfg_image *image);

/*
 * The function that has the address in its own range, built on first use; a .cold part gives the
 * function that it belongs to when that is known, else a function of its own. -ENOENT: there is no
 * code at the address; -ENOMEM.
 */
int cfg_image_function(struct cfg_image *image, uint64_t address, const struct cfg_function **ret);

/*
 * Entries of all functions known so far: those of .eh_frame and symbols in ascending order, then
 * those that only calls tell of, which building finds: a walk over all asks for the count again at
 * each step. A split-off part has an entry too; cfg_image_function gives its function again, known
 * by its own entry. Nothing is built.
 */
size_t cfg_image_count(struct cfg_image *image);
uint64_t cfg_image_entry(struct cfg_image *image, size_t index);

/* Index of the block whose instructions include the one at the address (exact start), or
 * CFG_OUTSIDE; the same for instructions. */
uint32_t cfg_function_block_at(const struct cfg_function *f, uint64_t address);
uint32_t cfg_function_instruction_at(const struct cfg_function *f, uint64_t address);

/* The last instruction of a block. */
static inline const struct isa_instruction *cfg_block_last(const struct cfg_function *f,
							   const struct cfg_block *b)
{
	return &f->instructions[b->first_instruction + b->instruction_count - 1];
}

#endif

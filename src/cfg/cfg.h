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
 * Control-flow graphs of an image's functions, from machine code alone (doc/cfg.md). A function's
 * graph is built when it is first asked for, and kept. Functions start where .eh_frame, symbols and
 * calls say so; a function's graph is what control flow reaches from its start, in any number of
 * address ranges (a split-off .cold part belongs to its function).
 *
 * Gaps are reported: a function with an indirect jump of unknown targets is marked as not complete,
 * and the reasons are counted.
 */
struct cfg_image;

/* The other end of an edge that enters the function from outside or leaves it. */
#define CFG_OUTSIDE UINT32_MAX

enum cfg_edge_kind {
	CFG_FALL_THROUGH, /* also: a conditional branch that is not taken */
	CFG_TAKEN,	  /* a conditional branch that is taken */
	CFG_JUMP,	  /* a direct unconditional jump */
	CFG_INDIRECT,	  /* through a jump table */
	CFG_AFTER_CALL,	  /* to the instruction that the call returns to */
	CFG_RETURN,	  /* to CFG_OUTSIDE: the function ends */
	CFG_TAIL,	  /* to CFG_OUTSIDE: a jump or fall-through into another function */
	CFG_MISSING,	  /* to CFG_OUTSIDE: target unknown; the function is not complete */
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
	CFG_BLOCK_STOP = 16,	 /* ends in an instruction without successor: ud2, hlt */
};

/* A block ends after any branch or call, or where another one starts. */
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
	bool returns;	  /* false: proven never to return; of a tail call: its target */
	uint64_t target;  /* ISA_NO_ADDRESS: indirect. May be a PLT entry of the image */
	const char *name; /* of a target in another image (through PLT or GOT), else NULL; owned by
			     the image */
};

/* Why a function is not complete. */
enum cfg_reason {
	CFG_WHY_INDIRECT, /* an indirect jump whose table was not found */
	CFG_WHY_TABLE,	  /* a jump table outside of the image, or one that leads out of the code */
	CFG_WHY_DECODE,	  /* flow reaches bytes that are not an instruction */
	CFG_WHY_CODE,	  /* flow reaches addresses without code */
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
	const struct cfg_image *image; /* its owner */
	uint64_t entry;
	uint64_t low, high;	  /* of all ranges */
	struct cfg_range *ranges; /* the code that was reached */
	uint32_t range_count;
	uint32_t entry_block;		      /* CFG_OUTSIDE: no instruction at the entry */
	struct isa_instruction *instructions; /* may overlap in hand-written code */
	uint32_t instruction_count;
	struct cfg_block *blocks;
	uint32_t block_count;
	/*
	 * The edges from block 0, then those from block 1, ... (fall-through first), then the edges
	 * from CFG_OUTSIDE. preds are indexes of edges, ordered by the block they lead to.
	 */
	struct cfg_edge *edges;
	uint32_t edge_count;
	uint32_t *preds;
	struct cfg_call *calls; /* by instruction */
	uint32_t call_count;
	bool complete;
	bool returns; /* false: proven never to return */
	uint32_t why[CFG_REASONS];
	uint32_t tables_proven;	  /* jump tables whose size is proven by the code */
	uint32_t tables_inferred; /* whose size follows from where the next table begins, or from
				     the first entry that leads out of the function */
};

/* The code at the address, up to the end of its region; NULL if there is none. Owned by the
 * image. */
const uint8_t *cfg_code_at(const struct cfg_image *image, uint64_t address, size_t *ret_size);

/* source is borrowed until the image is freed. 0, -EOPNOTSUPP, -ENOMEM. */
int cfg_image_new(const struct cfg_source *source, struct cfg_image **ret, struct diag *diag);
void cfg_image_free(struct cfg_image *image);

/*
 * The function whose own range has the address, built on first use. For an address in a .cold part
 * it is the function that the part belongs to, if known; else the part is a function of its own.
 * -ENOENT: there is no code at the address; -ENOMEM.
 */
int cfg_image_function(struct cfg_image *image, uint64_t address, const struct cfg_function **ret);

/*
 * The entries of all functions known so far: those of .eh_frame and symbols in ascending order,
 * then those known from calls only. Building a function may find more, so that a walk over all must
 * ask for the count at each step. A split-off part has an entry too; cfg_image_function gives its
 * whole function, which has another entry. Nothing is built by these calls.
 */
size_t cfg_image_count(struct cfg_image *image);
uint64_t cfg_image_entry(struct cfg_image *image, size_t index);

/* Frees the graphs that were built, for those who go through many functions: those that were given
 * out are gone. What they told of entries, and of which functions return, stays known. */
void cfg_image_forget_functions(struct cfg_image *image);

/* The index of the block that has an instruction starting exactly at the address, or CFG_OUTSIDE;
 * likewise the index of that instruction. */
uint32_t cfg_function_block_at(const struct cfg_function *f, uint64_t address);
uint32_t cfg_function_instruction_at(const struct cfg_function *f, uint64_t address);

/* The last instruction of a block. */
static inline const struct isa_instruction *cfg_block_last(const struct cfg_function *f,
							   const struct cfg_block *b)
{
	return &f->instructions[b->first_instruction + b->instruction_count - 1];
}

#endif

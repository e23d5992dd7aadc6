/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_CODE_FRAMES_H
#define CULPRIT_UNWIND_CODE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "util/diag.h"

/*
 * Unwind rules for code that no table describes: hand-written assembly mostly. What instructions do
 * to the stack pointer is followed along the flow of control from where functions begin (HPCToolkit
 * does so for all code; Tallent et al., "Binary Analysis for Measurement and Attribution of Program
 * Performance", PLDI 2009).
 *
 * Some function starts are known: what is called, or has a symbol. For other code that nothing
 * flows into (functions that only other files call, and what computed jumps lead to) the states
 * that it may begin with are tried, and one is believed only when it makes the code end as
 * functions do: at a return with the stack pointer at the return address, or in code that is known
 * by then. A known start whose code does not end so is not believed either. Better few rows than
 * wrong ones.
 */
struct code_frames;

/* Bytes of a file that are code, with an address. */
struct code_piece {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	const uint64_t *starts; /* ascending: where functions begin, in it or elsewhere */
	size_t start_count;
	const uint64_t *pointed; /* the same: where pointers lead, to functions or labels */
	size_t pointed_count;
	uint64_t entry; /* where the program begins */
};

/* Code past this many instructions, over all pieces, is not looked at: half a second's work. */
#define CODE_FRAMES_MAX (3u << 20)

struct code_frames_counters {
	uint64_t bytes;	       /* that have a rule */
	uint64_t instructions; /* that were decoded */
	uint64_t skipped;      /* bytes past a limit */
};

int code_frames_new(struct code_frames **ret, struct diag *diag);
void code_frames_free(struct code_frames *c);

/* In ascending order. Non-zero ends it. */
typedef int code_frames_taker(void *arg, uint64_t start, uint64_t end,
			      const struct wire_unwind_rule *rule);

/* The rules of a piece. 0, -ENOMEM, or what f returned. */
int code_frames_each(struct code_frames *c, const struct code_piece *piece, code_frames_taker *f,
		     void *arg);
void code_frames_count(const struct code_frames *c, struct code_frames_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_CODE_SWEEP_H
#define CULPRIT_UNWIND_CODE_SWEEP_H

#include "unwind/code_frames.h"
#include "unwind/code_state.h"

#define CODE_NO_STATE UINT32_MAX

enum {
	CODE_START = 1,	     /* of a function: code calls it, or a symbol or a pointer says so */
	CODE_RESUMED = 2,    /* code before it does not run into it: a function, or part of one */
	CODE_MAYBE_CALL = 4, /* after a call that may never return, and padding */
};

/*
 * A state that code may begin with, for code_frames.c: that of a call that may return, or of a
 * computed jump. It was found by assuming that the code at the join "by" begins with the state
 * "with", which is believed if the offer is.
 */
struct code_offer {
	uint32_t state;
	uint32_t by, with;
};

/* Where flow comes together, or may begin. */
struct code_join {
	uint32_t at;
	uint32_t first_step; /* at or after it */
	uint32_t state;	     /* number of the one before it; for code_frames.c */
	struct code_offer offer;
	uint8_t flags;
	bool proven;
};

/* A piece of code as far as it matters to frames; reused for the next one for its memory. */
struct code_sweep {
	struct code_step *steps; /* ascending; without those that do nothing to frames */
	struct code_join *joins; /* ascending */
	uint8_t *begins;	 /* one bit per byte: an instruction begins there */
	size_t step_count, step_room, join_count, join_room, begin_room;
	uint64_t instructions; /* of all pieces */
	size_t end;	       /* of what was looked at */
};

/* The "to" of a computed jump. */
#define CODE_COMPUTED 1

/* Go's goexit: nop; call; nop. Goroutines seem to be called by it, after its first instruction. */
bool code_sweep_is_goexit(const struct code_piece *p, size_t at);
/* What Linux makes signal handlers return to: mov $15 (rt_sigreturn), %rax; syscall. */
bool code_sweep_is_sigreturn(const struct code_piece *p, size_t at);
/* Reads up to max_instructions, counted over all pieces. 0, -ENOMEM. */
int code_sweep_read(struct code_sweep *s, const struct isa_decoder *d,
		    const struct code_piece *piece, uint64_t max_instructions);
void code_sweep_free(struct code_sweep *s);

#endif

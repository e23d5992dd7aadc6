/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_WIRE_STRIP_H
#define CULPRIT_MICRO_WIRE_STRIP_H

/* Decoded code as the interpreter looks it up, places in it, and why an interpreted window ends. */
#include "util/wire_int.h"

/* A strip: 1 KiB of code by file offset, with operations for instructions that begin in it. */
#define WIRE_STRIP_BITS	 10
#define WIRE_STRIP_BYTES (1u << WIRE_STRIP_BITS)
#define WIRE_STRIP_WORDS (WIRE_STRIP_BYTES / 64)

struct wire_strip_key {
	wire_u32 slot;
	wire_u32 number; /* file offset >> WIRE_STRIP_BITS */
};

/*
 * The instruction that begins at byte b of the strip has the operation first + rank[b / 64] + the
 * number of starts before b in its word. No start lies within an earlier instruction of the strip.
 */
struct wire_strip {
	wire_u64 starts[WIRE_STRIP_WORDS]; /* a bit per byte */
	wire_u16 rank[WIRE_STRIP_WORDS];   /* number of starts in the words before */
	wire_u32 first;			   /* index in micros */
	wire_u32 count;
};

/* Code at file offsets from 4 GiB on is not interpreted: it counts as in no file. */
struct wire_place {
	wire_u32 slot; /* 0: not in a known file */
	wire_u32 offset;
};

/* Why a window ended; the numbers are stable within one build only. */
enum wire_end {
	WIRE_END_FULL,	    /* all its instructions were interpreted */
	WIRE_END_COLD,	    /* the code is not decoded yet */
	WIRE_END_NO_FILE,   /* in a file without a slot */
	WIRE_END_ANONYMOUS, /* not in a file (JIT code, vDSO), or not executable */
	WIRE_END_SYSTEM,    /* a system call or another entry to the kernel */
	WIRE_END_UNKNOWN, /* a branch, or a store's address, depends on a value that is not known */
	WIRE_END_STORES,  /* wrote more words, or repeated more, than the limits allow */
	WIRE_END_INSTRUCTION, /* an instruction that is not modelled */
	WIRE_END_FAULT,	      /* would raise an exception (division by zero, trap) */
	WIRE_END_REASONS,
};

/* Names, as parts of the names of counters. */
#define WIRE_END_NAMES                                                                 \
	{                                                                              \
		"full", "cold", "no_file", "anonymous", "system", "unknown", "stores", \
			"instruction", "fault"                                         \
	}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_PYTHON_H
#define CULPRIT_BPF_WIRE_PYTHON_H

#include "wire.h"

/*
 * Python frames in place of the frames of their interpreter.
 *
 * Each call of CPython's evaluator has a C frame, and runs one Python frame or, since 3.11, those
 * of functions that call one another without a call in C. What says which C frames are the
 * evaluator's, and which Python frames stand for one (wire_python.by and .run):
 *
 *   3.8, 3.9   the address of its code; one frame object each, by f_back
 *   3.10       the same, or a structure on the C stack (CFrame), which each call of the evaluator
 *              has outside its first and last instructions
 *   3.11       that structure, which leads to frames, the last of which says that it is the last
 *   3.12       the same; after the last is one on the C stack, which says that it is not Python's
 *   3.13       that frame on the C stack: the structure is gone
 *
 * The thread's state leads to the first of each. Where anything is not as expected the C frame
 * stays.
 *
 * Maps of the unwinder:
 *   pythons  array  struct wire_python, number 0: none; a file's is in its struct wire_unwind_table
 *   codes    hash   struct wire_python_key -> u32 number of the code, never given twice
 *   names    ring   struct wire_python_code, cut after its last byte; before stacks that need it
 *   tellers  hash   u32 user -> u32 bytes of the ring that he has taken since it was emptied
 */

/* Frames: WIRE_FRAME_PYTHON | number of the code << 32 | instruction, in units of the bytecode.
 * Number 0: not known. */
#define WIRE_FRAME_PYTHON   (1ull << 62)
#define WIRE_PYTHON_DEPTH   4096       /* in a stack, at most: a process may make up any number */
#define WIRE_PYTHON_NUMBERS (1u << 28) /* fewer than this */

enum wire_python_by { WIRE_PYTHON_BY_CODE, WIRE_PYTHON_BY_CFRAME, WIRE_PYTHON_BY_ENTRY };
/* The Python frames of one C frame. */
enum wire_python_run { WIRE_PYTHON_ONE, WIRE_PYTHON_TO_FLAG, WIRE_PYTHON_TO_ENTRY };
/* What says which instruction a frame is at. */
enum wire_python_at { WIRE_PYTHON_POINTER, WIRE_PYTHON_BYTES, WIRE_PYTHON_UNITS };
/* Tables of lines: co_lnotab; co_linetable of 3.10 (PEP 626), and from 3.11 on (PEP 657). */
enum wire_python_lines { WIRE_PYTHON_LNOTAB, WIRE_PYTHON_RANGES, WIRE_PYTHON_LOCATIONS };

#define WIRE_PYTHON_OWNED_BY_C 3 /* frame_owner of a frame on the C stack */

struct wire_python_range {
	wire_u32 begin, end; /* offsets in the file */
};

#define WIRE_PYTHON_RANGES_MAX 2

/* An interpreter: where its data is, and the offsets of its version's structures. Offset 0 stands
 * for what the version does not have. */
struct wire_python {
	wire_u64 runtime; /* address of _PyRuntime = address of code - its file offset + this */
	struct wire_python_range evaluator[WIRE_PYTHON_RANGES_MAX]; /* BY_CODE */
	wire_u8 by, run, at, lines;
	/* In _PyRuntimeState: the thread state that has the lock, and the key of each thread's. */
	wire_u16 runtime_current, runtime_key;
	wire_u16 thread_cframe, thread_frame, thread_id;
	wire_u16 cframe_frame, cframe_previous;
	wire_u16 frame_code, frame_previous, frame_instruction;
	wire_u16 frame_is_entry, frame_owner;
	wire_u16 code_line, code_file, code_name, code_full_name, code_lines, code_bytecode;
	wire_u16 text_length, text_hash, text_state, text_ascii, text_compact;
	wire_u16 bytes_size, bytes_data;
	wire_u16 unused;
};

#define WIRE_PYTHONS 64

struct wire_python_key {
	wire_u64 code;	  /* address of the code object */
	wire_u32 process; /* as in struct wire_entry */
	wire_u32 content; /* hash of what the object holds: its memory may become another's */
};

/* A Python string: units of 1 (Latin-1), 2 or 4 bytes. */
struct wire_python_text {
	wire_u16 bytes; /* that are here */
	wire_u8 unit;
	wire_u8 is_cut;
};

#define WIRE_PYTHON_FILE_ROOM  512
#define WIRE_PYTHON_NAME_ROOM  256
#define WIRE_PYTHON_LINES_ROOM 4096

struct wire_python_code {
	wire_u32 number;
	wire_u32 first_line;
	struct wire_python_text file, name;
	wire_u32 lines_bytes; /* that are here */
	wire_u32 lines_form;  /* enum wire_python_lines */
	wire_u8 file_text[WIRE_PYTHON_FILE_ROOM];
	wire_u8 name_text[WIRE_PYTHON_NAME_ROOM];
	wire_u8 lines[WIRE_PYTHON_LINES_ROOM]; /* the table of lines */
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_PYTHON_H
#define CULPRIT_BPF_WIRE_PYTHON_H

#include "wire.h"

/*
 * Frames of Python in the place of the frames of its interpreter.
 *
 * CPython's evaluator has a structure of its own on the C stack (_PyCFrame), which its thread's
 * state (PyThreadState) leads to and which leads to the Python frames that this call of the
 * evaluator runs. So a C frame that has the structure is the evaluator's, and those Python frames
 * stand for it. Where anything is not as expected the C frame stays.
 *
 * Maps of the unwinder:
 *   pythons  array  struct wire_python, number 0: none; a file's is in its struct wire_unwind_table
 *   codes    hash   struct wire_python_key -> u32 number of the code, never given twice
 *   names    ring   struct wire_python_code, cut after its last byte: before a stack has its number
 */

/* Frames: WIRE_FRAME_PYTHON | number of the code << 32 | instruction, in units of the bytecode.
 * Number 0: not known. */
#define WIRE_FRAME_PYTHON   (1ull << 62)
#define WIRE_PYTHON_DEPTH   4096       /* in a stack, at most: a process may make up any number */
#define WIRE_PYTHON_NUMBERS (1u << 28) /* fewer than this */

/* An interpreter: where its data is, and the offsets of its version's structures. */
struct wire_python {
	wire_u64 runtime; /* address of _PyRuntime = address of code - its file offset + this */
	/* In _PyRuntimeState: the thread state that has the lock, and the key of each thread's. */
	wire_u16 runtime_current, runtime_key;
	wire_u16 thread_cframe, thread_id;
	wire_u16 cframe_frame, cframe_previous;
	wire_u16 frame_code, frame_previous, frame_instruction, frame_is_entry;
	wire_u16 code_line, code_file, code_name, code_full_name, code_lines, code_bytecode;
	wire_u16 text_length, text_hash, text_state, text_ascii, text_compact;
	wire_u16 bytes_size, bytes_data;
	wire_u16 unused;
};

#define WIRE_PYTHONS 64

struct wire_python_key {
	wire_u64 code;	  /* address of the code object */
	wire_u32 process; /* as in struct wire_entry */
	wire_u32 content; /* of what the object has: its memory may become another's */
};

/* A text of Python: units of 1 (Latin-1), 2 or 4 bytes. */
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
	wire_u32 unused;
	wire_u8 file_text[WIRE_PYTHON_FILE_ROOM];
	wire_u8 name_text[WIRE_PYTHON_NAME_ROOM];
	wire_u8 lines[WIRE_PYTHON_LINES_ROOM]; /* the table of lines */
};

#endif

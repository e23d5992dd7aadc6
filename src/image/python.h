/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_PYTHON_H
#define CULPRIT_IMAGE_PYTHON_H

#include <stdint.h>
#include "util/diag.h"

/* Offsets in an interpreter's structures that it publishes itself, and the numbers of the words of
 * 3.13's _Py_DebugOffsets that hold them. */
#define IMAGE_PYTHON_OFFSETS(X)  \
	X(thread_frame, 23)      \
	X(thread_id, 24)         \
	X(frame_previous, 29)    \
	X(frame_code, 30)        \
	X(frame_instruction, 31) \
	X(frame_owner, 33)       \
	X(code_file, 35)         \
	X(code_name, 36)         \
	X(code_full_name, 37)    \
	X(code_lines, 38)        \
	X(code_line, 39)         \
	X(code_bytecode, 43)     \
	X(bytes_size, 65)        \
	X(bytes_data, 66)        \
	X(text_state, 68)        \
	X(text_length, 69)       \
	X(text_ascii, 70)

struct image_python_offsets {
#define OFFSET(name, number) uint16_t name;
	IMAGE_PYTHON_OFFSETS(OFFSET)
#undef OFFSET
	uint16_t are_there; /* 0: it gives none, or invalid ones */
};

#define IMAGE_PYTHON_RANGES 2

/* What a file that contains a CPython interpreter (a program or a library) says of it. */
struct image_python {
	uint64_t runtime; /* virtual address of _PyRuntime */
	/* As PY_VERSION_HEX: 0x030b02f0 is 3.11.2; 0x030700f0 to 0x030a00f0 for any 3.7 to 3.10. */
	uint32_t version;
	uint32_t
		is_odd; /* built with other structures: threads without a lock, traced references */
	/* Where the evaluator's code begins and ends; the second may be empty. */
	struct {
		uint64_t begin, end;
	} evaluator[IMAGE_PYTHON_RANGES];
	struct image_python_offsets offsets;
	uint32_t unused;
};

/*
 * From its symbols: _PyRuntime exists from 3.7 on, Py_Version from 3.11 on; earlier versions show
 * by functions that came with each. -ENOENT: there is no such interpreter; -EBADMSG. Foreign
 * format: privileged callers go through image/worker/worker.h.
 */
int image_python_read(int fd, struct image_python *ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_PYTHON_H
#define CULPRIT_IMAGE_PYTHON_H

#include <stdint.h>
#include "util/diag.h"

/* Offsets in an interpreter's structures that it says itself (_Py_DebugOffsets, from 3.13 on). */
struct image_python_offsets {
	uint16_t thread_frame, thread_id;
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner;
	uint16_t code_file, code_name, code_full_name, code_lines, code_line, code_bytecode;
	uint16_t text_length, text_state, text_ascii;
	uint16_t bytes_size, bytes_data;
	uint16_t are_there; /* 0: it does not, or they make no sense */
};

#define IMAGE_PYTHON_RANGES 2

/* What a file that has a CPython interpreter in it (a program or a library) says of it. */
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
 * By its symbols: _PyRuntime is there from 3.7 on, Py_Version from 3.11 on, and before that
 * functions that came with each version. -ENOENT: there is no such interpreter; -EBADMSG. Foreign
 * format: privileged callers go through image/worker.h.
 */
int image_python_read(int fd, struct image_python *ret, struct diag *diag);

#endif

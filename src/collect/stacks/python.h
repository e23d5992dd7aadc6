/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_PYTHON_H
#define CULPRIT_COLLECT_STACKS_PYTHON_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_python.h"
#include "image/facts.h"
#include "image/python.h"
#include "util/buf.h"

/* What is known of versions of CPython, and how its data is read: what the program in the kernel
 * copies, bounded there, and hostile all the same. */

/* What the program needs to know of an interpreter in a file with these segments
 * (python_layouts.c). -ENOENT: its version, or its build, is not known here. */
int python_describe(const struct image_python *python, const struct image_segment *segments,
		    uint32_t segment_count, struct wire_python *ret);

/* Appends a text as UTF-8, "..." after one that was cut. What is not a character becomes U+FFFD, so
 * that there is no zero byte in it. 0 or the buffer's error. */
int python_decode_text(const struct wire_python_text *text, const void *data, struct buf *out);

/* The line of an instruction by the table of lines of its code, which has that form (enum
 * wire_python_lines; Objects/lnotab_notes.txt of CPython 3.10 and locations.md of 3.11); of one
 * that has none, or is past what is known, the last known before. */
uint32_t python_decode_line(uint32_t form, const uint8_t *lines, size_t size, uint32_t first_line,
			    uint32_t instruction);

#endif

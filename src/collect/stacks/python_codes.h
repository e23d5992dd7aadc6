/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_PYTHON_CODES_H
#define CULPRIT_COLLECT_STACKS_PYTHON_CODES_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_python.h"
#include "collect/keep/scripts.h"

/* Python's code objects that the program in the kernel numbered, as its frames name them. */
struct python_codes;

/* How many of the last numbers are kept. */
#define PYTHON_CODES_MAX       32768
#define PYTHON_CODES_MAX_BYTES (16u << 20) /* of their tables of lines */

/* scripts is borrowed. */
struct python_codes *python_codes_new(struct scripts *scripts);
void python_codes_free(struct python_codes *c);
/* Takes a record of that size, which is hostile. */
void python_codes_take(struct python_codes *c, const struct wire_python_code *record, size_t size);
/* The script of a frame (WIRE_FRAME_PYTHON), and the offset in its image; for a code that is not
 * known, those of a function whose name says so. 0, or -ENOSPC, -ENOMEM. */
int python_codes_find(struct python_codes *c, uint64_t frame, uint32_t *ret_script,
		      uint64_t *ret_offset);
/* Forgets all, as the scripts are about to be. */
void python_codes_clear(struct python_codes *c);

struct python_codes_counters {
	uint64_t codes;		/* taken */
	uint64_t refused;	/* of codes: no room for their function, or they were invalid */
	uint64_t without_lines; /* of codes: no room for their lines */
	uint64_t unknown;	/* frames whose code is not known */
};
void python_codes_count(const struct python_codes *c, struct python_codes_counters *ret);

#endif

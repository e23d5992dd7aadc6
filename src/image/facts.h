/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_FACTS_H
#define CULPRIT_IMAGE_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"
#include "util/identity.h"

/* What the collector needs of an ELF file: its identity, and how file offsets become addresses. */

#define IMAGE_SEGMENTS_MAX 32

struct image_segment {
	uint64_t address, file_offset, file_size; /* of an executable PT_LOAD */
};

struct image_facts {
	struct image_id id;	 /* build ID, or hash of the content when there is none */
	uint16_t machine;	 /* EM_X86_64, ... */
	uint8_t bits;		 /* 32 or 64 */
	uint8_t code_is_written; /* when it runs: text relocations, or segments that allow it */
	uint32_t segment_count, segments_refused; /* refused: past IMAGE_SEGMENTS_MAX */
	struct image_segment segments[IMAGE_SEGMENTS_MAX];
};

/*
 * Reads the facts of the ELF file behind fd. Trusts nothing in it; reads a bounded number of bytes,
 * however large the file is. -EBADMSG: not ELF, or broken, with the reason in diag. Foreign format:
 * privileged callers go through image/worker/worker.h.
 */
int image_facts_read(int fd, struct image_facts *ret, struct diag *diag);
/* The same, but a file that is broken or not ELF gets a hash of its content too: its id is of kind
 * IMAGE_FILE_OFFSET, and it has no segments. */
int image_facts_identify(int fd, struct image_facts *ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_STATE_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include "image/kernel/kernel_regions.h"

/* Programs that the kernel compiles share pages, but not such a piece of one (BPF_PROG_CHUNK_SIZE).
 */
#define KERNEL_CHUNK_BYTES    64
#define KERNEL_UNNAMED_CHUNKS 4096

/* What is behind struct image_kernel; internal to the kernel*.c files. */
struct image_kernel {
	char *root;
	struct kernel_regions regions;
	struct image_kernel_region unnamed;
	/* Chunks that had no name when asked for; of those that fall on one place the last. */
	uint64_t unnamed_chunks[KERNEL_UNNAMED_CHUNKS];
	uint64_t signature; /* of the last scan; see kernel_scan_signature() */
	bool signature_known;
	struct image_kernel_counts counts;
	struct kread_bpf *reader; /* loaded at the first read or question that needs it */
	bool mute;		  /* it answers no questions: too old, or we lack the right */
};

#endif

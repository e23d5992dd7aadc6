/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_STATE_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include "image/kernel/kernel_regions.h"

/* What is behind struct image_kernel; internal to the kernel*.c files. */
struct image_kernel {
	char *root;
	struct kernel_regions regions;
	struct image_kernel_region unnamed;
	uint64_t signature; /* of the last scan; see kernel_scan_signature() */
	bool signature_known;
	struct image_kernel_counts counts;
	struct kread_bpf *reader; /* loaded at the first read or question that needs it */
	bool mute;		  /* it answers no questions: too old, or we lack the right */
};

#endif
